// The index of an invocation in a one-dimensional dispatch of any size.

layout(local_size_x = 64, local_size_x_id = 0) in;

const uint LOCAL_SIZE = gl_WorkGroupSize.x;

// False for an invocation past the end. `count` is at least 1 and may be 2^32 - 1, so no index past
// it is ever computed. Constraint: the groups of all dispatches of a split number less than 2^32.
bool linear_index(uint first_group, uint count, out uint index) {
    const uvec3 groups = gl_NumWorkGroups;
    const uvec3 id = gl_WorkGroupID;
    const uint group = first_group + id.x + groups.x * (id.y + groups.y * id.z);
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
