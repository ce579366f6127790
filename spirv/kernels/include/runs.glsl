// Several indices of a one-dimensional dispatch for each invocation.
//
// What an invocation computes before its first index is paid once for all of them. They are
// LOCAL_SIZE apart, so that invocations side by side still write elements side by side. To be
// included after dispatch.glsl.

// At least 1. Constraint: LOCAL_SIZE * RUN_LENGTH is less than 2^31.
layout(constant_id = 1) const uint RUN_LENGTH = 16u;

struct Run {
    uint first; // the first index
    uint count; // how many there are, at most RUN_LENGTH
};

// False for an invocation past the end. As in linear_index, no index past `count` is ever computed.
bool run_of(uint first_group, uint count, out Run run) {
    const uint group = linear_group(first_group);
    const uint last = count - 1u;
    run = Run(0u, 0u);
    if (group > last / (LOCAL_SIZE * RUN_LENGTH)) {
        return false;
    }
    const uint first = group * (LOCAL_SIZE * RUN_LENGTH);
    if (gl_LocalInvocationID.x > last - first) {
        return false;
    }
    run.first = first + gl_LocalInvocationID.x;
    run.count = min(RUN_LENGTH, (last - run.first) / LOCAL_SIZE + 1u);
    return true;
}

// Adds to one part of a coordinate, `size` long, its part of a step and the carry of the part after
// it, and carries on. Constraint: `step` is less than `size`; then no part carries more than once.
void add_with_carry(uint size, uint step, inout uint at, inout uint carry) {
    const uint sum = at + step + carry;
    carry = sum < size ? 0u : 1u;
    at = sum - carry * size;
}
