// States that invocations join, and the sums of the weights of a query: joined in the tree of include/rows.glsl, a tile of keys at a time.

// Joins the state of an invocation with that of the one whose number differs by `step`.
void join_invocations(const uint step, inout uvec4 a, inout uvec4 b) {
    const uint invocation = gl_LocalInvocationIndex;
    barrier();
    factors[invocation] = a;
    factors[LOCAL_SIZE + invocation] = b;
    barrier();
    const bool is_left = (invocation & step) == 0u;
    const uvec4 other_a = factors[invocation ^ step];
    const uvec4 other_b = factors[LOCAL_SIZE + (invocation ^ step)];
    uvec4 right_a = is_left ? other_a : a;
    uvec4 right_b = is_left ? other_b : b;
    a = is_left ? a : other_a;
    b = is_left ? b : other_b;
    linked_join(a, b, right_a, right_b);
}

// The sums of weights while tiles of keys are added to them. An invocation has four lanes of a query's blocks.
struct Sum {
    uvec4 a;
    uvec4 b;
    uint blocks;
    uint level;
};

// Joins the blocks before with the block of this state.
void end_block(inout Sum sum) {
    const uint invocation = gl_LocalInvocationIndex;
    linked_lanes(sum.a, sum.b);
    join_invocations(QUERIES, sum.a, sum.b);
    join_invocations(2u * QUERIES, sum.a, sum.b);
    sum.level = 0u;
    if (invocation < QUERIES) {
        while ((sum.blocks >> sum.level & 1u) != 0u) {
            uvec4 right_a = sum.a;
            uvec4 right_b = sum.b;
            const uvec2 left = waiting[sum.level * QUERIES + invocation];
            sum.a = left.xxxx;
            sum.b = left.yyyy;
            linked_join(sum.a, sum.b, right_a, right_b);
            ++sum.level;
        }
        waiting[sum.level * QUERIES + invocation] = uvec2(sum.a.x, sum.b.x);
    }
    ++sum.blocks;
}

// Adds the weights of a tile of keys.
void add_weights(const uint first_key, inout Sum sum) {
    const uint query = gl_LocalInvocationIndex & QUERIES - 1u;
    if ((first_key & BLOCK - 1u) == 0u) {
        linked_start(sum.a, sum.b);
    }
    for (uint x = QUAD * (gl_LocalInvocationIndex / QUERIES); x < KEYS; x += LANES) {
        const uint place = x * QUERY_QUADS + (query >> 2);
        kept_quad = uvec4(weights[place][query & 3u], weights[place + QUERY_QUADS][query & 3u],
            weights[place + 2u * QUERY_QUADS][query & 3u], weights[place + 3u * QUERY_QUADS][query & 3u]);
        linked_quad(head_low, head_high, 0u, elements_of_quad(first_key + x, keys), sum.a, sum.b);
    }
    if ((first_key + KEYS & BLOCK - 1u) == 0u || first_key + KEYS >= keys) {
        end_block(sum);
    }
}

// Shares numbers of the queries: `sums` has them then.
void share_numbers(const uvec4 numbers) {
    if (key_quad() == 0u) {
        for (uint at = 0u; at < QUAD; ++at) {
            sums[QUAD * query_quad() + at] = numbers[at];
        }
    }
    barrier();
}

// Joins the blocks that are left, and shares what the weights of each query are together.
void end_sum(inout Sum sum) {
    const uint invocation = gl_LocalInvocationIndex;
    if (invocation < QUERIES) {
        for (++sum.level; sum.blocks >> sum.level != 0u; ++sum.level) {
            if ((sum.blocks >> sum.level & 1u) != 0u) {
                uvec4 right_a = sum.a;
                uvec4 right_b = sum.b;
                const uvec2 left = waiting[sum.level * QUERIES + invocation];
                sum.a = left.xxxx;
                sum.b = left.yyyy;
                linked_join(sum.a, sum.b, right_a, right_b);
            }
        }
        linked_row(head_low, head_high, 0u, 1u, sum.a, sum.b);
        sums[invocation] = row_values[1].x;
    }
    barrier();
}
