// Writes what has become of the row.
void linked_row(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    const uvec4 value = held(a) + held(b) + parameter(0u);
    const uint at = every_place(low, high, x);
    write1(at, value.x);
    write2(at, value.xy);
    write4(at, value);
    merge1(at, value.x, n);
}
