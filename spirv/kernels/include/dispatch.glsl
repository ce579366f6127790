// The index of an invocation, or of a work group, in a one-dimensional dispatch of any size. Where the kernel
// depends on it, LOCAL_SIZE_LITERAL is the size of a work group.

#ifdef LOCAL_SIZE_LITERAL
layout(local_size_x = LOCAL_SIZE_LITERAL) in;
#else
layout(local_size_x = 64, local_size_x_id = 0) in;
#endif

const uint LOCAL_SIZE = gl_WorkGroupSize.x;

// Constraint: the groups of all dispatches of a split number less than 2^32.
uint linear_group(uint first_group) {
    const uvec3 groups = gl_NumWorkGroups;
    const uvec3 id = gl_WorkGroupID;
    return first_group + id.x + groups.x * (id.y + groups.y * id.z);
}

// False for an invocation past the end. `count` is at least 1 and may be 2^32 - 1, so no index past
// it is ever computed.
bool linear_index(uint first_group, uint count, out uint index) {
    const uint group = linear_group(first_group);
    const uint last = count - 1u;
    index = 0u;
    if (group > last / LOCAL_SIZE) {
        return false;
    }
    const uint first = group * LOCAL_SIZE;
    if (gl_LocalInvocationID.x > last - first) {
        return false;
    }
    index = first + gl_LocalInvocationID.x;
    return true;
}

// `bound`, as a number that a driver cannot take for the same in every invocation. Lavapipe compiles a kernel
// anew for each value of a uniform that a loop ends at, in each dispatch, and keeps them all.
uint varying_bound(const uint bound, const uint index) {
    // No index is that high.
    return bound + uint(index == ~0u);
}
