# Verifies the circuit under one clock after another, without end.
read_liberty cells.lib
read_verilog circuit.v
link_design top
set period 10
while {1} {
    create_clock -name clock -period $period {clock}
    report_checks > /dev/null
    set period [expr {$period >= 40 ? 10 : $period + 1}]
}
