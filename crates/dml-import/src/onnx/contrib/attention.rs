//! Definitions of attention and rotary embedding.

pub(super) const TEXT: &str = r#"
RotaryEmbedding<interleaved: int, is_packed_batching: int, num_heads: int, rotary_embedding_dim: int, scale: float>(input, position_ids, cos_cache, sin_cache) -> (output)
  refuse is_packed_batching: sequences of several lengths are not packed
  refuse scale and scale != 1: nothing is scaled
  output = _Rotary<interleaved=@interleaved, num_heads=@num_heads!, rotary_embedding_dim=@rotary_embedding_dim>(input, cos_cache, sin_cache, position_ids)

MultiHeadAttention<mask_filter_value: float, num_heads: int!, scale: float, unidirectional: int>(query, key?, value?, bias?, key_padding_mask?, attention_bias?, past_key?, past_value?, past_sequence_length?, cache_indirection?) -> (output, present_key?, present_value?, qk?)
  refuse past_sequence_length and not past_key: there is no cache that it counts
  refuse cache_indirection: there is no search of beams
  refuse qk: scores are no output of it (the fourth output)
  refuse not key and value: its values come without keys
  refuse bias and not value: what is packed has no bias
  if not key: q1, k1, v1 = Split<axis=3, num_outputs=3>(query)
  if not key: q = Reshape(q1, [0, 0, -1])
  if key: wide = Identity(query)
  if key and not value: k1, v1 = Split<axis=3, num_outputs=2>(key)
  if not value: k = Reshape(k1, [0, 0, -1])
  if not value: v = Reshape(v1, [0, 0, -1])
  if value: high = Identity(key)
  if value: deep = Identity(value)
  if bias: widths = Concat<axis=0>(Shape<start=2>(query), Shape<start=2>(key), Shape<start=2>(value))
  if bias: bq, bk, bv = Split<axis=0>(bias, widths)
  if key: q = Add(wide, bq?)
  if value: k = Add(high, bk?)
  if value: v = Add(deep, bv?)
  own = Shape<start=-2, end=-1>(k)
  if past_key: earlier = Shape<start=2, end=3>(past_key)
  if key_padding_mask and not past_sequence_length: kept = _KeyMask(key_padding_mask, q, Add(own, earlier?))
  if key_padding_mask and past_sequence_length: kept = _KeyMask(key_padding_mask, q, Shape<start=1>(key_padding_mask))
  if key_padding_mask: hidden = Where(kept, 0.0:q, @mask_filter_value|-10000.0:q)
  if key_padding_mask: scores = Add(hidden, attention_bias?)
  if not key_padding_mask and attention_bias: scores = Identity(attention_bias)
  if not past_sequence_length: output, present_key?, present_value? = Attention<is_causal=@unidirectional, q_num_heads=@num_heads, kv_num_heads=@num_heads, scale=@scale!>(q, k, v, scores, past_key, past_value)
  if past_sequence_length: steps = Cast<to=6>(Shape<start=1, end=2>(q))
  if past_sequence_length: before = Expand(Cast<to=6>(Reshape(past_sequence_length, [-1])), Shape<start=0, end=1>(q))
  if past_sequence_length: keys = Range(0:steps, Cast<to=6>(earlier), 1:steps)
  if past_sequence_length and unidirectional > 0: ends = Add(Reshape(before, [-1, 1]), Range(1:steps, Add(steps, 1:steps), 1:steps))
  if past_sequence_length and not unidirectional > 0: ends = Reshape(Add(before, steps), [-1, 1])
  if past_sequence_length: unused = Where(Less(keys, Unsqueeze(ends, [1, 3])), 0.0:query, -inf:query)
  if past_sequence_length: output, present_key?, present_value? = _CachedAttention<kv_num_heads=@num_heads, num_heads=@num_heads, scale=@scale!>(q, k, v, unused, past_key, past_value, before, earlier, scores)

_Attended<mask_filter_value: float, num_heads: int, qkv_hidden_sizes: ints, scale: float, unidirectional: int>(all, mask?, past?, attention_bias?) -> (output, present?)
  if qkv_hidden_sizes: q, k, v = Split<axis=2>(all, @qkv_hidden_sizes)
  if not qkv_hidden_sizes: q, k, v = Split<axis=2, num_outputs=3>(all)
  if past: keys, values = Split<axis=0, num_outputs=2>(past)
  if past: past_key = Squeeze(keys, [0])
  if past: past_value = Squeeze(values, [0])
  if not present: output = ms.MultiHeadAttention<mask_filter_value=@mask_filter_value, num_heads=@num_heads, scale=@scale, unidirectional=@unidirectional>(q, k, v, _, mask, attention_bias, past_key, past_value)
  if present: output, keys1, values1 = ms.MultiHeadAttention<mask_filter_value=@mask_filter_value, num_heads=@num_heads, scale=@scale, unidirectional=@unidirectional>(q, k, v, _, mask, attention_bias, past_key, past_value)
  if present: present = Concat<axis=0>(Unsqueeze(keys1, [0]), Unsqueeze(values1, [0]))

Attention<do_rotary: int, mask_filter_value: float, num_heads: int!, past_present_share_buffer: int, qkv_hidden_sizes: ints, rotary_embedding_dim: int, scale: float, unidirectional: int>(input, weights, bias?, mask_index?, past?, attention_bias?, past_sequence_length?) -> (output, present?)
  refuse do_rotary: its angles are not said
  refuse past_present_share_buffer: past and present are no buffer of one size
  refuse past_sequence_length: past and present are no buffer of one size
  all = Add(MatMul(input, weights), bias?)
  output, present? = _Attended<mask_filter_value=@mask_filter_value, num_heads=@num_heads, qkv_hidden_sizes=@qkv_hidden_sizes, scale=@scale, unidirectional=@unidirectional>(all, mask_index, past, attention_bias)

QAttention<do_rotary: int, mask_filter_value: float, num_heads: int!, past_present_share_buffer: int, scale: float, unidirectional: int>(input, weight, bias, input_scale, weight_scale, mask_index?, input_zero_point?, weight_zero_point?, past?) -> (output, present?)
  refuse do_rotary: its angles are not said
  refuse past_present_share_buffer: past and present are no buffer of one size
  all = ms.MatMulIntegerToFloat(input, weight, input_scale, weight_scale, input_zero_point, weight_zero_point, bias)
  output, present? = _Attended<mask_filter_value=@mask_filter_value, num_heads=@num_heads, scale=@scale, unidirectional=@unidirectional>(all, mask_index, past)

GroupQueryAttention<causal: int, do_rotary: int, k_norm_epsilon: float, k_quant_type: text, kv_cache_bit_width: int, kv_num_heads: int!, local_window_size: int, num_heads: int!, q_norm_epsilon: float, qk_norm_epsilon: float, qk_output: int, rotary_interleaved: int, scale: float, sliding_window_cache: int, smooth_softmax: int, softcap: float, v_quant_type: text>(query, key?, value?, past_key?, past_value?, seqlens_k, total_sequence_length, cos_cache?, sin_cache?, position_ids?, attention_bias?, head_sink?, k_scale?, v_scale?, q_norm_weight?, k_norm_weight?, query_seqlens?) -> (output, present_key?, present_value?, output_qk?)
  refuse output_qk: scores are no output of it (qk_output)
  refuse qk_output: scores are no output of it (qk_output)
  refuse sliding_window_cache: it keeps a part of the keys
  refuse kv_cache_bit_width: it quantizes keys and values
  refuse k_quant_type and not k_quant_type in NONE: it quantizes keys and values
  refuse v_quant_type and not v_quant_type in NONE: it quantizes keys and values
  refuse k_scale: it quantizes keys and values
  refuse v_scale: it quantizes keys and values
  refuse q_norm_weight: it normalizes queries and keys
  refuse k_norm_weight: it normalizes queries and keys
  refuse query_seqlens: its queries are padded
  if not key: parts = Identity([@num_heads, @kv_num_heads, @kv_num_heads])
  if not key: widths = Mul(Div(Shape<start=2>(query), ReduceSum(parts, [0])), parts)
  if not key: q, k, v = Split<axis=2>(query, widths)
  if key: q = Identity(query)
  if key: k = Identity(key)
  if key: v = Identity(value)
  lengths = Reshape(seqlens_k, [-1])
  steps = Cast<to=6>(Shape<start=1, end=2>(query))
  before = Max(Sub(Add(lengths, 1:lengths), steps), 0:lengths)
  places = Add(Reshape(before, [-1, 1]), Range(0:steps, steps, 1:steps))
  if do_rotary and position_ids: turns = Identity(position_ids)
  if do_rotary and not position_ids: turns = Identity(places)
  if do_rotary: q2 = _Rotary<interleaved=@rotary_interleaved, num_heads=@num_heads>(q, cos_cache, sin_cache, turns)
  if do_rotary: k2 = _Rotary<interleaved=@rotary_interleaved, num_heads=@kv_num_heads>(k, cos_cache, sin_cache, turns)
  if not do_rotary: q2 = Identity(q)
  if not do_rotary: k2 = Identity(k)
  given = Cast<to=6>(Reshape(total_sequence_length, [1]))
  if past_key: earlier = Cast<to=6>(Shape<start=2, end=3>(past_key))
  total = Max(given, earlier?)
  keys = Range(0:steps, total, 1:steps)
  rows = Unsqueeze(places, [1, 3])
  if causal == 0: last = LessOrEqual(keys, Reshape(lengths, [-1, 1, 1, 1]))
  if not causal == 0: last = LessOrEqual(keys, rows)
  if local_window_size > 0: first = Greater(keys, Sub(rows, @local_window_size:rows))
  hidden = Where(And(last, first?), 0.0:query, -inf:query)
  output, present_key?, present_value? = _CachedAttention<kv_num_heads=@kv_num_heads, num_heads=@num_heads, scale=@scale!, smooth_softmax=@smooth_softmax, softcap=@softcap>(q2, k2, v, hidden, past_key, past_value, before, total, attention_bias, head_sink)
"#;
