# Of `tenfold rtl --shell`: the engine on a bus, and the host program.
# make host: host/simulated, the host program (host/host.c) with the shell in Verilator; FLOATS, INITIAL as above.
# make xrt: host/card, the same program for a card; needs XRT, whose folder XILINX_XRT is. Never run.
# make lint-shell, synthesise-shell: as `make lint` and `make synthesise`, of the whole.
SHELL_SOURCES := fifo.sv shell.sv
HOST_OBJECT := object-host-$(FLOATS)-$(INITIAL)

host: host/simulated
host/simulated: $(HOST_OBJECT)/Vshell
	cp $(HOST_OBJECT)/Vshell host/simulated

$(HOST_OBJECT)/Vshell: $(SOURCES) $(SHELL_SOURCES) engine.svh descriptor.svh fields.svh memories.svh shell.svh map.h host/host.c host/device.h \
    host/device_simulator.cpp
	mkdir -p $(HOST_OBJECT) && rm -f $@ # the host is no file that the model is made of
	$(CC) -std=c99 -O1 -Wall -Wextra -Ihost -I. -c host/host.c -o $(HOST_OBJECT)/host.o
	$(VERILATOR) --cc --exe --build --top-module shell --Mdir $(HOST_OBJECT) -DSYNTHESIS -Wno-fatal -Wno-lint -Wno-style -O3 $(UNROLL) \
	    --x-assign $(INITIAL) --x-initial $(INITIAL) --output-split 20000 -CFLAGS -I$(CURDIR)/host \
	    -MAKEFLAGS "$(OPTIMISATION)" -j 2 $(SHELL_SOURCES) $(SOURCES) \
	    $(ARITHMETIC) host/device_simulator.cpp $(CURDIR)/$(HOST_OBJECT)/host.o >verilator-host.log 2>&1 || { cat verilator-host.log; exit 1; }

xrt:
	$(CC) -std=c99 -O2 -Ihost -I. -I$(XILINX_XRT)/include host/host.c host/device_xrt.c -L$(XILINX_XRT)/lib -lxrt_coreutil -o host/card

lint-shell:
	$(VERILATOR) --lint-only -Wall -DSYNTHESIS --top-module shell waivers.vlt $(SHELL_SOURCES) $(SOURCES)
	$(ICARUS) -g2012 -Wall -Wno-timescale -DSYNTHESIS -t null -s shell $(SHELL_SOURCES) $(SOURCES)

synthesise-shell:
	$(YOSYS) -q -p "read_verilog -sv -DSYNTHESIS $(SHELL_SOURCES) $(SOURCES); \
	    synth_xilinx -family xcup -uram -noiopad -noclkbuf -top shell -flatten; tee -o synthesis.txt stat -tech xilinx"

.PHONY: synthesise-shell host xrt lint-shell

# make xo, xclbin: by Vivado and v++, hours; never run.
xo:
	vivado -mode batch -source vitis/package.tcl
xclbin: xo
	v++ --link --target hw --config vitis/link.cfg vitis/tenfold.xo -o vitis/tenfold.xclbin

.PHONY: xo xclbin
