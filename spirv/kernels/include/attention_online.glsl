// Attention in one pass over the keys: online softmax. Weights are relative to the greatest score so far, and sums and
// weighted values so far are scaled whenever a tile of keys has a greater one. Bits differ from those of several passes.

const uint INFINITE = 0x7f800000u;
const uint NEGATIVE_INFINITE = 0xff800000u;
const uint NOT_A_NUMBER = 0x7fc00000u;

// Adds numbers, of which rounding has lost the rest, to such.
void add_exactly(inout vec4 high, inout vec4 rest, const vec4 other_high, const vec4 other_rest) {
    const vec4 sum = high + other_high;
    const vec4 part = sum - high;
    rest = ((high - (sum - part)) + (other_high - part)) + (rest + other_rest);
    high = sum;
}

// The linker replaces the body by the exponential of the distance from `now` to `before`, which takes its place.
void linked_change(inout uvec4 before, inout uvec4 now) {
    replace(before, held(before) + held(now));
}

// The factors by which weights change when the greatest score changes.
vec4 change_of_weights(const uvec4 before, const uvec4 now) {
    uvec4 power = before;
    uvec4 greatest = now;
    linked_change(power, greatest);
    const vec4 changed = mix(uintBitsToFloat(power), vec4(0.0), equal(before, uvec4(NEGATIVE_INFINITE)));
    return mix(changed, vec4(1.0), equal(before, now));
}

// The greatest scores of a tile of keys and of those before, as states and as values of the queries.
void go_on_with_greatest(const uint first_key, inout uvec4 greatest_a, inout uvec4 greatest_b) {
    uvec4 a[QUAD];
    uvec4 b[QUAD];
    for (uint at = 0u; at < QUAD; ++at) {
        linked_start(a[at], b[at]);
    }
    join_scores(first_key, a, b);
    uvec4 all_a;
    uvec4 all_b;
    join_queries(a, b, all_a, all_b);
    linked_join(greatest_a, greatest_b, all_a, all_b);
    linked_row(head_low, head_high, 0u, 1u, greatest_a, greatest_b);
}

// Adds the weights of four queries and a quad of keys, which this invocation has computed.
void add_own_weights(const uint first_key, inout vec4 high, inout vec4 rest) {
    const uint n = elements_of_quad(first_key + QUAD * key_quad(), keys);
    for (uint at = 0u; at < n; ++at) {
        const vec4 weight = uintBitsToFloat(weights[(QUAD * key_quad() + at) * QUERY_QUADS + query_quad()]);
        add_exactly(high, rest, weight, vec4(0.0));
    }
}

// Scales the weighted values so far.
void scale_found(const vec4 change) {
    share_numbers(floatBitsToUint(change));
    const vec4 of_queries = uintBitsToFloat(sums_of(gl_LocalInvocationIndex >> 4));
    for (uint quad = 0u; quad < VALUE_QUADS; ++quad) {
        for (uint at = 0u; at < QUAD; ++at) {
            found[QUAD * quad + at] *= of_queries[at];
        }
    }
}

// Adds the sums of the invocations that have the same queries; all of them have the result.
void join_sums(inout vec4 high, inout vec4 rest) {
    const uint invocation = gl_LocalInvocationIndex;
    for (uint step = QUERY_QUADS; step < LOCAL_SIZE; step <<= 1) {
        barrier();
        factors[invocation] = floatBitsToUint(high);
        factors[LOCAL_SIZE + invocation] = floatBitsToUint(rest);
        barrier();
        const bool is_left = (invocation & step) == 0u;
        const vec4 other_high = uintBitsToFloat(factors[invocation ^ step]);
        const vec4 other_rest = uintBitsToFloat(factors[LOCAL_SIZE + (invocation ^ step)]);
        const vec4 right_high = is_left ? other_high : high;
        const vec4 right_rest = is_left ? other_rest : rest;
        high = is_left ? high : other_high;
        rest = is_left ? rest : other_rest;
        add_exactly(high, rest, right_high, right_rest);
    }
}

// The greatest scores so far, and the sums of weights relative to them: those of this invocation's keys.
uvec4 online_greatest;
vec4 online_high;
vec4 online_rest;

// Makes weights relative to other scores: sums and weighted values so far are scaled.
void make_relative_to(const uvec4 now) {
    const vec4 change = change_of_weights(online_greatest, now);
    online_high *= change;
    online_rest *= change;
    scale_found(change);
    online_greatest = now;
}

// Weights, their sums, and weighted values.
void online_phase() {
    uvec4 greatest_a;
    uvec4 greatest_b;
    linked_start(greatest_a, greatest_b);
    online_greatest = uvec4(NEGATIVE_INFINITE);
    online_high = vec4(0.0);
    online_rest = vec4(0.0);
    uint first_key = 0u;
    do {
        multiply(first_key);
        go_on_with_greatest(first_key, greatest_a, greatest_b);
        const uvec4 now = row_values[0];
        // Below 0 a score that is infinite has no weight; there is no distance between two of them.
        row_values[0] = mix(now, uvec4(0u), equal(now, uvec4(NEGATIVE_INFINITE)));
        weigh_products(first_key);
        make_relative_to(now);
        add_own_weights(first_key, online_high, online_rest);
        add_values(first_key);
        first_key += KEYS;
    } while (first_key < keys);
    row_values[0] = online_greatest;
}

// The score that weights are relative to, where it is not the greatest one of the keys.
void online_greatest_phase() {
    row_values[0] = of_each_query();
    make_relative_to(row_values[0]);
}

// The sums of weights.
void online_sum_phase() {
    join_sums(online_high, online_rest);
    // Queries whose scores are all infinite, or one of whose scores is no number, have no weights.
    const bvec4 has_none = greaterThanEqual(online_greatest & 0x7fffffffu, uvec4(INFINITE));
    share_numbers(mix(floatBitsToUint(online_high + online_rest), uvec4(NOT_A_NUMBER), has_none));
    row_values[1] = sums_of(query_quad());
}
