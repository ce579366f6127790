// The Gauss error function and what is made of it, on four f32, each the bits of one word.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/pairs.glsl"
#include "include/exponential.glsl"

// erf(a) where |a| is at most 1: a * (2 / sqrt(pi) + a^2 * P(a^2)). P is interpolated at Chebyshev's nodes
// and off by 2^-26; it has at most a third of the sum.
vec3 error_near_0(const vec3 a) {
    const float number = parts(a).x;
    const float square = number * number;
    float p = 1.1131013479825924e-06;
    p = p * square - 1.4119450497673824e-05;
    p = p * square + 0.00011989475024165586;
    p = p * square - 0.0008545300806872547;
    p = p * square + 0.005223901476711035;
    p = p * square - 0.026866160333156586;
    p = p * square + 0.11283791810274124;
    p = p * square - 0.37612637877464294;
    const vec2 sum = ordered_sum(1.128379225730896, square * p);
    return times(a, vec3(sum.x, sum.y - 5.8635382771399236e-08, 0.0));
}

// 1 - erf(a) where a is at least 1/2: e^(-a^2) * Q(y) / (a + 4) with y = (a - 4) / (a + 4). Q is interpolated
// at Chebyshev's nodes up to a = 10.4, where nothing of the result is left, and off by 2^-27; evaluating it
// adds about 1 unit in the last place.
vec3 error_complement(const vec3 a) {
    const vec3 more = plus(a, vec3(4.0, 0.0, 0.0));
    const float y = parts(over(plus(a, vec3(-4.0, 0.0, 0.0)), more)).x;
    float q = -0.0007125670672394335;
    q = q * y - 0.0003217215125914663;
    q = q * y + 0.00622288603335619;
    q = q * y - 0.02632526122033596;
    q = q * y + 0.07636573910713196;
    q = q * y - 0.1740194708108902;
    q = q * y + 0.3308524191379547;
    q = q * y - 0.5408532619476318;
    q = q * y + 0.7732086777687073;
    q = q * y - 0.9765487313270569;
    q = q * y + 1.0959956645965576;
    return times(exponential(opposite(times(a, a))), over(vec3(q, 0.0, 0.0), more));
}

// Below 1 unit in the last place.
uint erf_of(const uint x) {
    const vec3 number = pair(uint(magnitude(x)));
    const vec3 far = plus(ONE, opposite(error_complement(number)));
    const vec3 near = error_near_0(number);
    const uint result = rounded(magnitude(x) < 0x3f800000 ? near : far) | (x & SIGN);
    return magnitude(x) > INFINITY ? NAN : result;
}

uvec4 erf(const uvec4 a) {
    EACH(erf_of(a[at]))
}

// x / 2 * (1 + erf(x / sqrt(2))), below 2 units.
uint gelu_of(const uint x) {
    const vec3 number = pair(x);
    const vec3 argument =
        times(pair(uint(magnitude(x))), vec3(0.7071067690849304, 1.2101617485882343e-08, 0.0));
    const bool is_negative = x >= SIGN;
    const vec3 error = error_near_0(argument);
    const vec3 near = plus(ONE, is_negative ? opposite(error) : error);
    const vec3 complement = error_complement(argument);
    // 2 - complement where x is positive.
    const vec3 two = vec3(2.0, 0.0, 0.0);
    const vec3 far = is_negative ? complement : plus(two, opposite(complement));
    // Nothing cancels below sqrt(1/2), where the argument is 1/2.
    const vec3 twice = times(number, magnitude(x) < 0x3f3504f3 ? near : far);
    const uint result = rounded(vec3(twice.x, twice.y, twice.z - 1.0));
    // Minus infinity times 0.
    const bool has_none = magnitude(x) > INFINITY || x == (SIGN | uint(INFINITY));
    return has_none ? NAN : result;
}

uvec4 gelu(const uvec4 a) {
    EACH(gelu_of(a[at]))
}
