// The registers of a state, and the function that is linked for each quad of elements.

// A register of the state, as a value.
uvec4 held(inout uvec4 state) {
    return state;
}

// Sets all lanes: of one word each, or of a low and a high one.
void set(inout uvec4 state, const uint low, const uint high) {
    state = uvec4(low, high, low, high);
}

// Replaces all lanes.
void replace(inout uvec4 state, const uvec4 value) {
    state = value;
}

// Replaces the lanes of the first `n` elements of a quad.
void hold(inout uvec4 state, const uvec4 value, const uint n) {
    state = mix(state, value, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(n)));
}

// The same where a register has two elements: those of `part`.
void hold_wide(inout uvec4 state, const uvec4 value, const uint n, const uint part) {
    state = mix(state, value, lessThan(uvec4(0u, 0u, 1u, 1u) + 2u * part, uvec4(n)));
}

// What rounding has lost of an element.
uvec4 nothing() {
    return uvec4(0u);
}

// The linker replaces the body by what becomes of a quad: the state that it is joined to, or its elements.
void linked_quad(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    const uint at = every_place(low, high, x) * inner_stride(OUTPUT) + parameter(0u)
        + element_of_every_row(OUTPUT, x);
    const uint one = read1_0(at) + read1_1(at) + read1_2(at) + read1_3(at) + read1_4(at)
        + read1_5(at) + read1_6(at) + every_narrow(at);
    const uvec2 two = read2_0(at) + read2_1(at) + read2_2(at) + read2_3(at) + read2_4(at)
        + read2_5(at) + read2_6(at);
    const uvec4 four = numbers(at, n) + read4_0(at) + read4_1(at) + read4_2(at) + read4_3(at)
        + read4_4(at) + read4_5(at) + read4_6(at);
    hold(a, held(b) + four + one + nothing(), n);
    replace(a, held(a));
    hold_wide(b, two.xyxy, n, 0u);
}
