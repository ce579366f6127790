// A skeleton: attention. A work group has 32 queries of a head, and goes through all keys, 64 at a time: first for the
// greatest score of each query, then for the weights, their sum, and the weighted sum of the values. Scores are computed
// again in each pass, so none is ever written to a buffer. Invocations and shared bytes are those that every device has.
// Where any bits will do there is one pass (include/attention_online.glsl).
//
// Bits of the passes are those of the separate products and reductions: products are added in the order of the depths and of the keys,
// weights are joined in the tree of include/rows.glsl. The dimensions of the space are four of batches and heads, the
// queries, the keys and the elements of a value; a row goes along the depths. Operands 0 to 2 are queries, keys and values,
// the others are inputs of scores, whose elements of a row are keys.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require

#define LOCAL_SIZE_LITERAL 128
#define OUTER_DIMENSIONS 7
#define KNOWS_ROWS

#include "include/dispatch.glsl"
#include "include/space.glsl"
#include "include/joining.glsl"

// Queries of a work group, and keys of a tile.
const uint QUERIES = 32u;
const uint KEYS = 64u;
const uint QUERY_QUADS = QUERIES / QUAD;
const uint KEY_QUADS = KEYS / QUAD;
// Depths that are multiplied at one time.
const uint DEPTHS = 16u;
// Quads of elements of a value, and keys whose values are read at one time: a quad for each invocation.
const uint VALUE_ROW = 16u * VALUE_QUADS;
const uint VALUE_KEYS = 8u / VALUE_QUADS;
const uint LANES = 16u;
// Keys of a block of weights that are joined: two tiles.
const uint BLOCK = 128u;
// A query has fewer than 1 << LEVELS blocks.
const uint LEVELS = 7u;

// Queries and then keys, by depths and quads; the values of some keys; states that invocations join.
const uint FIRST_KEY = DEPTHS * QUERY_QUADS;
shared uvec4 factors[DEPTHS * (QUERY_QUADS + KEY_QUADS)];
// By keys and quads of queries.
shared uvec4 weights[KEYS * QUERY_QUADS];
// By levels and queries: the states of 1, 2, 4, .. blocks that have no right neighbour yet.
shared uvec2 waiting[LEVELS * QUERIES];
// The sum of the weights of each query.
shared uint sums[QUERIES];

// Where the head begins in each operand, and how far it is to the next query and to the next key.
uvec4 head_low;
uvec4 head_high;
uvec4 query_low;
uvec4 query_high;
uvec4 key_low;
uvec4 key_high;
uint first_query;
uint queries;
uint keys;
uint depths;
uint elements;

// Scores: four queries by a quad of keys.
vec4 products[QUAD];
// Weighted values: four queries by quads of elements.
vec4 found[QUAD * VALUE_QUADS];
// The greatest score of each of four queries, and the sum of their weights.
uvec4 row_values[2];
// The same of the query whose turn it is.
uvec4 query_values[2];
// The quad whose turn it is: products, weights, or weighted values.
uvec4 kept_quad;

uvec4 kept() {
    return kept_quad;
}

void keep(const uvec4 value) {
    kept_quad = value;
}

uvec4 row_value(const uint number) {
    return query_values[number];
}

void set_row_value(const uint number, const uvec4 value) {
    row_values[number] = value;
}

// The linker replaces the bodies of these: a quad of queries, keys or values; what a phase makes of the state of a row; and
// what it makes of a quad that is kept.
void linked_query(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    linked_quad(low, high, x, n, a, b);
}

void linked_key(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    linked_quad(low, high, x, n, a, b);
}

void linked_value(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    linked_quad(low, high, x, n, a, b);
}

void linked_row(
    const uvec4 low, const uvec4 high, const uint x, const uint n, inout uvec4 a, inout uvec4 b) {
    set_row_value(0u, held(a) + held(b) + row_value(0u));
}

void linked_element(
    const uvec4 low, const uvec4 high, const uint x, const uint n) {
    const uint at = every_place(low, high, x) + element_of_every_row(OUTPUT, x) + parameter(0u);
    write1(at, at);
    write2(at, uvec2(at));
    write4(at, row_value(0u));
    merge1(at, at, n);
    keep(kept());
}

// How many elements of the quad that begins at `x` come before `end`.
uint elements_of_quad(const uint x, const uint end) {
    return x < end ? min(QUAD, end - x) : 0u;
}

// Where a quad is read that may be past the end: something that is there.
uint within(const uint x, const uint end) {
    return min(x, end - 1u & ~3u);
}

// Where the row of a query begins; past the last one it is that one's.
uvec4 low_of_query(const uint query) {
    return head_low + min(query, queries - 1u) * query_low;
}

uvec4 high_of_query(const uint query) {
    return head_high + min(query, queries - 1u) * query_high;
}

// The quad of queries and the quad of keys of a tile that an invocation has the scores of.
uint query_quad() {
    return gl_LocalInvocationIndex & QUERY_QUADS - 1u;
}

uint key_quad() {
    return gl_LocalInvocationIndex / QUERY_QUADS;
}

// The place of a quad of queries or keys among those of a depth: what an invocation stores in one go is in different banks.
uint banked(const uint quad, const uint depth) {
    return quad ^ (depth >> 2) * 2u;
}

// The quad of keys, in a row that is past the last key where there is none.
uvec4 key_at(const uint key, const uint x) {
    const uint at = min(key, keys - 1u);
    uvec4 of_key;
    uvec4 unused;
    linked_key(head_low + at * key_low, head_high + at * key_high, within(x, depths), elements_of_quad(x, depths),
        of_key, unused);
    return of_key;
}

// Computes the scores of an invocation's queries and keys.
void multiply(const uint first_key) {
    const uint row = gl_LocalInvocationIndex >> 2;
    const uint depth_quad = gl_LocalInvocationIndex & 3u;
    const uint query = first_query + row;
    for (uint at = 0u; at < QUAD; ++at) {
        products[at] = vec4(0.0);
    }
    uint first = 0u;
    do {
        const uint x = first + QUAD * depth_quad;
        uvec4 of_query;
        uvec4 unused;
        linked_query(low_of_query(query), high_of_query(query), within(x, depths), elements_of_quad(x, depths),
            of_query, unused);
        const uvec4 of_key = key_at(first_key + row, x);
        const uvec4 of_later_key = key_at(first_key + row + KEYS / 2u, x);
        barrier();
        for (uint at = 0u; at < QUAD; ++at) {
            const uint depth = QUAD * depth_quad + at;
            const uint place = banked(row >> 2, depth);
            const uint later_place = banked(row + KEYS / 2u >> 2, depth);
            factors[depth * QUERY_QUADS + place][row & 3u] = of_query[at];
            factors[FIRST_KEY + depth * KEY_QUADS + place][row & 3u] = of_key[at];
            factors[FIRST_KEY + depth * KEY_QUADS + later_place][row & 3u] = of_later_key[at];
        }
        barrier();
        const uint end = min(DEPTHS, depths - first);
        for (uint depth = 0u; depth < end; ++depth) {
            const vec4 some_queries =
                uintBitsToFloat(factors[depth * QUERY_QUADS + banked(query_quad(), depth)]);
            const vec4 some_keys =
                uintBitsToFloat(factors[FIRST_KEY + depth * KEY_QUADS + banked(key_quad(), depth)]);
            products[0] += some_queries.x * some_keys;
            products[1] += some_queries.y * some_keys;
            products[2] += some_queries.z * some_keys;
            products[3] += some_queries.w * some_keys;
        }
        first += DEPTHS;
    } while (first < depths);
}

#include "include/attention_sums.glsl"

// Joins the scores of four queries and a quad of keys to a state for each query.
void join_scores(const uint first_key, inout uvec4 a[QUAD], inout uvec4 b[QUAD]) {
    const uint x = first_key + QUAD * key_quad();
    for (uint at = 0u; at < QUAD; ++at) {
        const uint query = first_query + QUAD * query_quad() + at;
        kept_quad = floatBitsToUint(products[at]);
        linked_quad(low_of_query(query), high_of_query(query), within(x, keys), elements_of_quad(x, keys), a[at], b[at]);
    }
}

// The states of four queries, each in a lane, of those that the invocations with these queries have.
void join_queries(inout uvec4 a[QUAD], inout uvec4 b[QUAD], out uvec4 all_a, out uvec4 all_b) {
    for (uint at = 0u; at < QUAD; ++at) {
        linked_lanes(a[at], b[at]);
    }
    all_a = uvec4(a[0].x, a[1].x, a[2].x, a[3].x);
    all_b = uvec4(b[0].x, b[1].x, b[2].x, b[3].x);
    for (uint step = QUERY_QUADS; step < LOCAL_SIZE; step <<= 1) {
        join_invocations(step, all_a, all_b);
    }
}

// Finds the greatest score of each query.
void greatest_phase() {
    uvec4 a[QUAD];
    uvec4 b[QUAD];
    for (uint at = 0u; at < QUAD; ++at) {
        linked_start(a[at], b[at]);
    }
    uint first_key = 0u;
    do {
        multiply(first_key);
        join_scores(first_key, a, b);
        first_key += KEYS;
    } while (first_key < keys);
    uvec4 all_a;
    uvec4 all_b;
    join_queries(a, b, all_a, all_b);
    linked_row(head_low, head_high, 0u, 1u, all_a, all_b);
}

// Computes the weights of a tile of keys, of products.
void weigh_products(const uint first_key) {
    const uint x = first_key + QUAD * key_quad();
    uvec4 some_weights[QUAD];
    for (uint at = 0u; at < QUAD; ++at) {
        const uint query = first_query + QUAD * query_quad() + at;
        kept_quad = floatBitsToUint(products[at]);
        query_values[0] = uvec4(row_values[0][at]);
        query_values[1] = uvec4(row_values[1][at]);
        linked_element(low_of_query(query), high_of_query(query), within(x, keys), elements_of_quad(x, keys));
        some_weights[at] = kept_quad;
    }
    barrier();
    for (uint at = 0u; at < QUAD; ++at) {
        weights[(QUAD * key_quad() + at) * QUERY_QUADS + query_quad()] = uvec4(
            some_weights[0][at], some_weights[1][at], some_weights[2][at], some_weights[3][at]);
    }
    barrier();
}

// Computes the weights of a tile of keys.
void weigh(const uint first_key) {
    multiply(first_key);
    weigh_products(first_key);
}

// The sums of the weights of four queries.
uvec4 sums_of(const uint quad) {
    const uint first = QUAD * quad;
    return uvec4(sums[first], sums[first + 1u], sums[first + 2u], sums[first + 3u]);
}

// Adds the values of a tile of keys, times their weights.
void add_values(const uint first_key) {
    const uint invocation = gl_LocalInvocationIndex;
    const uint end = min(KEYS, keys - first_key);
    uint first = 0u;
    do {
        const uint key = min(first_key + first + invocation / VALUE_ROW, keys - 1u);
        const uint x = QUAD * (invocation % VALUE_ROW);
        uvec4 value;
        uvec4 unused;
        linked_value(head_low + key * key_low, head_high + key * key_high, within(x, elements),
            elements_of_quad(x, elements), value, unused);
        barrier();
        factors[invocation] = value;
        barrier();
        const uint some = min(VALUE_KEYS, end - first);
        for (uint at = 0u; at < some; ++at) {
            const vec4 of_queries = uintBitsToFloat(weights[(first + at) * QUERY_QUADS + (invocation >> 4)]);
            for (uint quad = 0u; quad < VALUE_QUADS; ++quad) {
                const vec4 some_values =
                    uintBitsToFloat(factors[at * VALUE_ROW + quad * 16u + (invocation & 15u)]);
                found[QUAD * quad] += of_queries.x * some_values;
                found[QUAD * quad + 1u] += of_queries.y * some_values;
                found[QUAD * quad + 2u] += of_queries.z * some_values;
                found[QUAD * quad + 3u] += of_queries.w * some_values;
            }
        }
        first += VALUE_KEYS;
    } while (first < end);
}

#include "include/attention_phases.glsl"
#include "include/attention_online.glsl"

// Writes what is found.
void write_phase() {
    const uint some_queries = gl_LocalInvocationIndex >> 4;
    const uvec4 some_sums = sums_of(some_queries);
    for (uint quad = 0u; quad < VALUE_QUADS; ++quad) {
        const uint x = QUAD * (quad * 16u + (gl_LocalInvocationIndex & 15u));
        const uint n = elements_of_quad(x, elements);
        for (uint at = 0u; at < QUAD; ++at) {
            const uint query = first_query + QUAD * some_queries + at;
            if (n > 0u && query < queries) {
                kept_quad = floatBitsToUint(found[QUAD * quad + at]);
                query_values[1] = uvec4(some_sums[at]);
                linked_element(low_of_query(query), high_of_query(query), x, n);
            }
        }
    }
}

// The linker replaces the body by calls of copies of these, one for each phase.
void linked_phases() {
    greatest_phase();
    sum_phase();
    value_phase();
    sum_and_value_phase();
    online_phase();
    online_greatest_phase();
    online_sum_phase();
    greatest_epilogue_phase();
    sum_epilogue_phase();
    write_phase();
}

// The coordinates of a work group's head, and its queries.
void find_head(const uint group) {
    queries = outer_size(4u).x;
    keys = varying_bound(outer_size(5u).x, group);
    elements = outer_size(6u).x;
    depths = varying_bound(inner_size().x, group);
    const uint tiles = (queries + QUERIES - 1u) / QUERIES;
    uint rest = group / tiles;
    first_query = (group - rest * tiles) * QUERIES;
    uvec4 head;
    head.w = split(3u, rest);
    head.z = split(2u, rest);
    head.y = split(1u, rest);
    head.x = rest;
    const uvec4 origin = uvec4(0u);
    head_low = uvec4(
        row_of(0u, head, origin), row_of(1u, head, origin), row_of(2u, head, origin), row_of(3u, head, origin));
    head_high = uvec4(
        row_of(4u, head, origin), row_of(5u, head, origin), row_of(6u, head, origin), row_of(OUTPUT, head, origin));
    query_low = uvec4(high_strides(0u).x, high_strides(1u).x, high_strides(2u).x, high_strides(3u).x);
    query_high = uvec4(high_strides(4u).x, high_strides(5u).x, high_strides(6u).x, high_strides(OUTPUT).x);
    key_low = uvec4(high_strides(0u).y, high_strides(1u).y, high_strides(2u).y, high_strides(3u).y);
    key_high = uvec4(high_strides(4u).y, high_strides(5u).y, high_strides(6u).y, high_strides(OUTPUT).y);
}

void main() {
    const uint group = linear_group(push.first_group);
    if (group >= push.count) {
        return;
    }
    find_head(group);
    for (uint at = 0u; at < QUAD * VALUE_QUADS; ++at) {
        found[at] = vec4(0.0);
    }
    row_values[0] = uvec4(0u);
    row_values[1] = uvec4(0u);
    linked_phases();
}
