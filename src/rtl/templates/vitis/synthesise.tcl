# vivado -mode batch -source vitis/synthesise.tcl: the shell alone, out of context, placed and routed, before any card is
# asked: vitis/timing.txt, utilisation.txt, power.txt. Never run.
set here [file dirname [file normalize [info script]]]
set folder [file dirname $here]
source [file join $here settings.tcl]

foreach source [glob -directory $folder *.sv] {
  if {[file tail $source] ne "testbench.sv"} { read_verilog -sv $source }
}
foreach table {program.hex exponential.hex logarithm.hex} { read_mem [file join $folder $table] }
read_xdc -mode out_of_context [file join $here constraints.xdc]
synth_design -top shell -part $part -mode out_of_context -include_dirs $folder
opt_design
source [file join $here pblocks.tcl]
place_design
phys_opt_design
route_design
report_timing_summary -file [file join $here timing.txt]
report_utilization -hierarchical -file [file join $here utilisation.txt]
report_power -file [file join $here power.txt]
