# Before placement: HBM hangs on SLR0, so the shell's queues and registers stay there; the engine too, where it leaves a
# third of the region free (one_region), else it is placed freely. A device of one region has nothing to say. Never run.
source [file join [file dirname [file normalize [info script]]] settings.tcl]
if {[llength [get_slrs]] > 1} {
  set block [create_pblock tenfold]
  resize_pblock $block -add SLR0
  set cells [get_cells -hierarchical -regexp {.*/?(fetched|store)}]
  if {$one_region} { set cells [concat $cells [get_cells -hierarchical -regexp {.*/?accelerator}]] }
  if {[llength $cells] > 0} { add_cells_to_pblock $block $cells }
}
