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
