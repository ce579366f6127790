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

// How many elements further on the one of a window is that lies `further` after the window's first, which is at `start`:
// nowhere outside. The coordinates of both in some dimensions are one word, with a field of bits for each: the highest bit
// of a field is set where they are not below 0, and once the sizes are subtracted where they are not below these.
uvec4 inside_offset(const uvec4 start, const uvec4 further, const uvec4 first, const uvec4 further_coordinates,
    const uint sizes, const uint guards) {
    const uvec4 coordinates = first + further_coordinates;
    const bvec4 is_inside = equal(coordinates & ~(coordinates - sizes) & guards, uvec4(guards));
    return mix(uvec4(NOWHERE), start + further, is_inside);
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

// Where a window has its coordinate `first`, of the one that has this number: `inner` windows of the dimensions
// inside make one step.
uvec4 window_at(const uvec4 number, const uint inner, const uint windows, const uint step, const uint first) {
    return first + number / inner % windows * step;
}

// The offset, or nowhere where it is of no pair `a * weight_a + b * weight_b == position`.
uvec4 paired(const uvec4 offset, const uvec4 position, const uvec4 a, const uint count_a, const uint weight_a,
    const uvec4 b, const uint count_b, const uint weight_b) {
    const uvec4 sum = a * weight_a + b * weight_b;
    uvec4 found = mix(uvec4(NOWHERE), offset, equal(sum, position));
    found = mix(uvec4(NOWHERE), found, lessThan(a, uvec4(count_a)));
    found = mix(uvec4(NOWHERE), found, lessThan(b, uvec4(count_b)));
    return mix(uvec4(NOWHERE), found, lessThanEqual(a * weight_a, position));
}

// How many elements further on that of a pair is: `a` is the candidate with this number, from the last one that
// is not beyond the position downwards.
uvec4 pair_of_candidate(const uvec4 number, const uvec4 position, const uint inner, const uint candidates,
    const uint weight_a, const uint count_a, const uint stride_a, const uint weight_b, const uint stride_b,
    const uint count_b) {
    const uvec4 a = min(position / weight_a, uvec4(count_a - 1u)) - number / inner % candidates;
    const uvec4 b = (position - a * weight_a) / weight_b;
    return paired(a * stride_a + b * stride_b, position, a, count_a, weight_a, b, count_b, weight_b);
}

// The same where `a` is known by its number, and the element is further on by `b` alone.
uvec4 pair_of_row(const uvec4 number, const uvec4 position, const uint inner, const uint count_a,
    const uint weight_a, const uint count_b, const uint stride_b, const uint weight_b) {
    const uvec4 a = number / inner % count_a;
    const uvec4 b = (position - a * weight_a) / weight_b;
    return paired(b * stride_b, position, a, count_a, weight_a, b, count_b, weight_b);
}
