// The passes over all keys that add up weights and weighted values.

// Adds up the weights of each query.
void sum_phase() {
    Sum sum;
    sum.blocks = 0u;
    sum.level = 0u;
    uint first_key = 0u;
    do {
        weigh(first_key);
        add_weights(first_key, sum);
        first_key += KEYS;
    } while (first_key < keys);
    end_sum(sum);
    row_values[1] = sums_of(query_quad());
}

// Adds up weighted values.
void value_phase() {
    uint first_key = 0u;
    do {
        weigh(first_key);
        add_values(first_key);
        first_key += KEYS;
    } while (first_key < keys);
}

// Both in one pass, where weights do not depend on their sum.
void sum_and_value_phase() {
    Sum sum;
    sum.blocks = 0u;
    sum.level = 0u;
    uint first_key = 0u;
    do {
        weigh(first_key);
        add_weights(first_key, sum);
        add_values(first_key);
        first_key += KEYS;
    } while (first_key < keys);
    end_sum(sum);
}

// The linked function's number for each of four queries, of their values.
uvec4 of_each_query() {
    uvec4 all;
    for (uint at = 0u; at < QUAD; ++at) {
        const uint query = first_query + QUAD * query_quad() + at;
        query_values[0] = uvec4(row_values[0][at]);
        query_values[1] = uvec4(row_values[1][at]);
        linked_element(low_of_query(query), high_of_query(query), 0u, 1u);
        all[at] = kept_quad.x;
    }
    return all;
}

// The score that weights are relative to, of the greatest one of the keys.
void greatest_epilogue_phase() {
    row_values[0] = of_each_query();
}

// The sum of weights, of that of the keys.
void sum_epilogue_phase() {
    row_values[1] = sums_of(query_quad());
    row_values[1] = of_each_query();
    // All invocations have read the sums of the keys.
    barrier();
    share_numbers(row_values[1]);
}
