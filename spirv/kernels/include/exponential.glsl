// e^x and the natural logarithm of pairs. Mirrored by src/functions/pairs/exponential.rs.

// The first 12 digits of ln 2, and the 24 that follow: integers of up to 12 digits times the former are exact.
const float LN_2_HIGH = 0.693115234375;
const float LN_2_LOW = 3.194618329871446e-05;

// vec3(r, q, k), where e^a = 2^k * (1 + r + q) and |r| is at most ln(2) / 2.
//
// q is e^r - 1 - r = r^2 * P(r), of which P is interpolated at Chebyshev's nodes: off by 2^-30. Its rounding
// is off by less, as it is at most 0.07: the sum has an error below 2^-26.
vec3 reduced_exponential(const vec3 a) {
    // Far enough for a result beyond the range, and for k to have 12 digits.
    const vec2 value = a.xy * power_of_two(clamp(int(a.z), -60, 9));
    // Adding 1.5 * 2^23 leaves the nearest integer.
    const float k = (value.x * 1.4426950408889634 + 12582912.0) - 12582912.0;
    const vec2 r = exact_sum(value.x - k * LN_2_HIGH, value.y - k * LN_2_LOW);
    float p = 0.00019891030387952924;
    p = p * r.x + 0.0013933685841038823;
    p = p * r.x + 0.00833331048488617;
    p = p * r.x + 0.041666463017463684;
    p = p * r.x + 0.1666666716337204;
    p = p * r.x + 0.5;
    return vec3(r.x, r.x * r.x * p + (r.y + r.x * r.y), k);
}

vec3 exponential(const vec3 a) {
    const vec3 reduced = reduced_exponential(a);
    const vec2 sum = ordered_sum(1.0, reduced.x);
    return vec3(ordered_sum(sum.x, sum.y + reduced.y), reduced.z);
}

// e^a - 1, off by less than 2^-25 of itself: nothing cancels where k is 0, and of numbers below 2^-30 it is
// the number.
vec3 exponential_less_1(const vec3 a) {
    const vec3 reduced = reduced_exponential(a);
    const vec3 far = plus(exponential(a), opposite(ONE));
    const vec3 near = vec3(ordered_sum(reduced.x, reduced.y), 0.0);
    const vec3 result = reduced.z == 0.0 ? near : far;
    return a.z < -30.0 ? a : result;
}

// ln(a) of a positive pair, off by less than 2^-33 of itself.
//
// a is m * 2^k, m from the root of 1/2 to that of 2. With s = (m - 1) / (m + 1), ln(m) is
// 2s + s^3 * (2/3 + s^2 * R(s^2)), R interpolated at Chebyshev's nodes and off by 2^-34.
vec3 logarithm(const vec3 a) {
    const int k = (floatBitsToInt(a.x) - 0x3f3504f3) >> 23;
    const vec2 m = a.xy * power_of_two(-k);
    const vec2 less_1 = exact_sum(m.x - 1.0, m.y);
    const vec2 more_1 = exact_sum(2.0, less_1.x);
    const vec3 s = over(vec3(less_1, 0.0), vec3(more_1.x, more_1.y + less_1.y, 0.0));
    const vec3 square = times(s, s);
    float r = 0.19121329486370087;
    r = r * square.x + 0.22204729914665222;
    r = r * square.x + 0.2857153117656708;
    r = r * square.x + 0.4000000059604645;
    const vec2 inner = ordered_sum(0.6666666865348816, square.x * r);
    const vec3 cubic = times(square, vec3(inner.x, inner.y - 1.9868215517249155e-08, 0.0));
    const vec2 outer = ordered_sum(2.0, cubic.x);
    const vec3 of_m = times(s, vec3(outer.x, outer.y + cubic.y, 0.0));
    const float exponent = float(k) + a.z;
    const vec2 sum = exact_sum(exponent * LN_2_HIGH, of_m.x);
    return normalized(vec3(ordered_sum(sum.x, sum.y + (exponent * LN_2_LOW + of_m.y)), 0.0));
}
