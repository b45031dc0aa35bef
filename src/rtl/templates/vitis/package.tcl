# vivado -mode batch -source vitis/package.tcl: vitis/tenfold.xo, the shell as a kernel for v++. Never run.
set here [file dirname [file normalize [info script]]]
set folder [file dirname $here]
source [file join $here settings.tcl]

create_project -force tenfold [file join $here package] -part $part
set sources {}
foreach source [glob -directory $folder *.sv] {
  if {[file tail $source] ne "testbench.sv"} { lappend sources $source }
}
add_files -norecurse $sources
foreach header [glob -directory $folder *.svh] {
  if {[file tail $header] ne "testbench.svh"} { add_files -norecurse $header }
}
set_property file_type {Verilog Header} [get_files *.svh]
foreach table {program.hex exponential.hex logarithm.hex} {
  add_files -norecurse [file join $folder $table]
  set_property file_type {Memory Initialization Files} [get_files $table]
}
set_property include_dirs $folder [current_fileset]
set_property top shell [current_fileset]
update_compile_order -fileset sources_1

set ip [file join $here ip]
ipx::package_project -root_dir $ip -vendor tenfold -library kernel -taxonomy /KernelIP -import_files -set_current false
ipx::unload_core [file join $ip component.xml]
ipx::edit_ip_in_project -upgrade true -name kernel -directory $ip [file join $ip component.xml]
set core [ipx::current_core]
set_property core_revision 1 $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
set_property supported_families {} $core
set_property auto_family_support_level level_2 $core
ipx::associate_bus_interfaces -busif s_axi_control -clock ap_clk $core
ipx::associate_bus_interfaces -busif m_axi_gmem -clock ap_clk $core

# The registers that kernel.xml names; the pointers say which port they are of.
ipx::add_memory_map s_axi_control $core
set_property slave_memory_map_ref s_axi_control [ipx::get_bus_interfaces s_axi_control -of_objects $core]
set block [ipx::add_address_block reg0 [ipx::get_memory_maps s_axi_control -of_objects $core]]
set_property range 4096 $block
set_property usage register $block
foreach {name offset size} {CTRL 0x000 32 records 0x010 64 answers 0x018 64 number 0x020 32} {
  set register [ipx::add_register $name $block]
  set_property address_offset $offset $register
  set_property size $size $register
  if {$size == 64} {
    set parameter [ipx::add_register_parameter ASSOCIATED_BUSIF $register]
    set_property value m_axi_gmem $parameter
  }
}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::check_integrity -kernel $core
ipx::save_core $core
close_project -delete
package_xo -force -xo_path [file join $here tenfold.xo] -kernel_name shell -ip_directory $ip -kernel_xml [file join $here kernel.xml]
