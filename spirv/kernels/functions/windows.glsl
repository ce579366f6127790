// Where the elements of windows are, and what stands for those outside of the tensor.
#version 450

// What is here is outside.
const uint NOWHERE = 0xffffffffu;

// How many elements further on the one of a window is that has this number, in one dimension: `first` is the
// coordinate of the window's first, modulo 2^32, and `inner` windows of the dimensions inside make one step.
uvec4 tap(const uvec4 number, const uvec4 first, const uint inner, const uint window, const uint dilation,
    const uint size, const uint stride) {
    const uvec4 coordinate = first + number / inner % window * dilation;
    const bvec4 is_inside = lessThan(coordinate, uvec4(size));
    const uvec4 offset = mix(uvec4(NOWHERE), coordinate * stride, is_inside);
    return mix(offset, uvec4(NOWHERE), equal(number, uvec4(NOWHERE)));
}

// The element, or another one where it is nowhere.
uvec4 unless_nowhere(const uvec4 element, const uvec4 offset, const uint other) {
    return mix(element, uvec4(other), equal(offset, uvec4(NOWHERE)));
}

// Where the neighbour after an element is; the element itself where the neighbour has no weight.
uvec4 upper_neighbour(const uvec4 offset, const uvec4 weight, const uint stride) {
    const uvec4 upper = mix(offset, offset + stride, notEqual(weight, uvec4(0u)));
    return mix(upper, offset, equal(offset, uvec4(NOWHERE)));
}
