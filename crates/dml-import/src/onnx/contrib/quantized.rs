//! Definitions of quantized operators: their inputs are dequantized, and their results quantized.

use std::fmt::Write as _;

pub(super) const TEXT: &str = r#"
_Requantized<>(x, scale, zero_point?, like) -> (y)
  if zero_point: y = QuantizeLinear(x, scale, zero_point)
  if not zero_point: y = QuantizeLinear(x, scale, 0:like)

QLinearAdd<>(A, A_scale, A_zero_point?, B, B_scale, B_zero_point?, C_scale, C_zero_point?) -> (C)
  c = Add(DequantizeLinear(A, A_scale, A_zero_point), DequantizeLinear(B, B_scale, B_zero_point))
  C = _Requantized(c, C_scale, C_zero_point, A)

QLinearMul<>(A, A_scale, A_zero_point?, B, B_scale, B_zero_point?, C_scale, C_zero_point?) -> (C)
  c = Mul(DequantizeLinear(A, A_scale, A_zero_point), DequantizeLinear(B, B_scale, B_zero_point))
  C = _Requantized(c, C_scale, C_zero_point, A)

QLinearSigmoid<>(X, X_scale, X_zero_point?, Y_scale, Y_zero_point?) -> (Y)
  Y = _Requantized(Sigmoid(DequantizeLinear(X, X_scale, X_zero_point)), Y_scale, Y_zero_point, X)

QLinearLeakyRelu<alpha: float>(X, X_scale, X_zero_point?, Y_scale, Y_zero_point?) -> (Y)
  y = LeakyRelu<alpha=@alpha>(DequantizeLinear(X, X_scale, X_zero_point))
  Y = _Requantized(y, Y_scale, Y_zero_point, X)

QLinearSoftmax<axis: int, opset: int>(X, X_scale, x_zero_point?, y_scale, y_zero_point) -> (Y)
  refuse opset < 13 and axis != -1: the softmax of ai.onnx before version 13 (opset)
  Y = QuantizeLinear(Softmax<axis=@axis|-1>(DequantizeLinear(X, X_scale, x_zero_point)), y_scale, y_zero_point)

QLinearAveragePool<auto_pad: text, ceil_mode: int, channels_last: int, count_include_pad: int, kernel_shape: ints!, pads: ints, strides: ints>(X, x_scale, x_zero_point?, y_scale, y_zero_point?) -> (Y)
  first = _ChannelsFirst<channels_last=@channels_last>(DequantizeLinear(X, x_scale, x_zero_point))
  y = AveragePool<auto_pad=@auto_pad, ceil_mode=@ceil_mode, count_include_pad=@count_include_pad, kernel_shape=@kernel_shape, pads=@pads, strides=@strides>(first)
  Y = _Requantized(_ChannelsAsGiven<channels_last=@channels_last>(y), y_scale, y_zero_point, X)

QLinearGlobalAveragePool<channels_last: int>(X, x_scale, x_zero_point, y_scale, y_zero_point) -> (Y)
  x = DequantizeLinear(X, x_scale, x_zero_point)
  if channels_last: y = ReduceMean(x, [1, 2])
  if not channels_last: y = GlobalAveragePool(x)
  Y = QuantizeLinear(y, y_scale, y_zero_point)

QLinearReduceMean<axes: ints, keepdims: int>(data, data_scale, data_zero_point?, reduced_scale, reduced_zero_point?) -> (reduced)
  mean = ReduceMean<keepdims=@keepdims>(DequantizeLinear(data, data_scale, data_zero_point), @axes)
  reduced = _Requantized(mean, reduced_scale, reduced_zero_point, data)

QLinearWhere<>(condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point) -> (Z)
  z = Where(condition, DequantizeLinear(X, x_scale, x_zero_point), DequantizeLinear(Y, y_scale, y_zero_point))
  Z = QuantizeLinear(z, z_scale, z_zero_point)

QLinearConcat<axis: int!>(Y_scale, Y_zero_point, inputs...) -> (Y)

QLinearConv<auto_pad: text, channels_last: int, dilations: ints, group: int, kernel_shape: ints, pads: ints, strides: ints>(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B?) -> (y)
  first = _ChannelsFirst<channels_last=@channels_last>(x)
  last = QLinearConv<auto_pad=@auto_pad, dilations=@dilations, group=@group, kernel_shape=@kernel_shape, pads=@pads, strides=@strides>(first, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B)
  y = _ChannelsAsGiven<channels_last=@channels_last>(last)

QGemm<alpha: float, transA: int, transB: int>(A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?) -> (Y)
  if transA: a = Transpose<perm=[1, 0]>(A)
  if not transA: a = Identity(A)
  if transB: b = Transpose<perm=[1, 0]>(B)
  if not transB: b = Identity(B)
  whole = Add(MatMulInteger(a, b, a_zero_point, b_zero_point), C?)
  y = Mul(Cast<to=1>(whole), Mul(Mul(a_scale, b_scale), @alpha|1.0))
  if y_scale: Y = QuantizeLinear(y, y_scale, y_zero_point)
  if not y_scale: Y = Identity(y)

QEmbedLayerNormalization<epsilon: float>(input_ids, segment_ids?, word_embedding, position_embedding, segment_embedding?, gamma, beta, mask?, word_scale, position_scale, segment_scale?, gamma_scale, beta_scale, word_zero_point, position_zero_point, segment_zero_point?, gamma_zero_point, beta_zero_point) -> (output, mask_index?)
  words = DequantizeLinear(word_embedding, word_scale, word_zero_point)
  places = DequantizeLinear(position_embedding, position_scale, position_zero_point)
  if segment_embedding: segments = DequantizeLinear(segment_embedding, segment_scale, segment_zero_point)
  scales = DequantizeLinear(gamma, gamma_scale, gamma_zero_point)
  shifts = DequantizeLinear(beta, beta_scale, beta_zero_point)
  if not mask_index: output = ms.EmbedLayerNormalization<epsilon=@epsilon>(input_ids, segment_ids, words, places, segments, scales, shifts, mask)
  if mask_index: output, mask_index = ms.EmbedLayerNormalization<epsilon=@epsilon>(input_ids, segment_ids, words, places, segments, scales, shifts, mask)

MatMulIntegerToFloat<>(A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?) -> (Y)
  whole = CastLike(MatMulInteger(A, B, a_zero_point, b_zero_point), a_scale)
  Y = Add(Mul(whole, Mul(a_scale, b_scale)), bias?)

DynamicQuantizeMatMul<>(A, B, b_scale, b_zero_point?, bias?) -> (Y)
  a, a_scale, a_zero_point = DynamicQuantizeLinear(A)
  Y = ms.MatMulIntegerToFloat(a, B, a_scale, b_scale, a_zero_point, b_zero_point, bias)

_Codes<bits: int>(X) -> (Y)
  if bits == 8: Y = Identity(X)
  if not bits == 8: Y = _Halves(X)

_MiddleCode<bits: int>(like) -> (Y)
  if bits == 8: Y = Identity(128:like)
  if not bits == 8: Y = Identity(8:like)

_Halves<>(X) -> (Y)
  low = Unsqueeze(BitwiseAnd(X, 15:X), [-1])
  high = Unsqueeze(BitShift<direction="RIGHT">(X, 4:X), [-1])
  Y = Concat<axis=-1>(low, high)

MatMulNBits<K: int!, N: int!, accuracy_level: int, bits: int, block_size: int!, weight_prepacked: int>(A, B, scales, zero_points?, g_idx?, bias?) -> (Y)
  refuse g_idx: rows in another order (g_idx)
  refuse weight_prepacked: weights in the order of another runtime (weight_prepacked)
  refuse bits and not bits == 4 and not bits == 8: integers of other than 4 and 8 bits (bits)
  if not bits == 8: rows = _DequantizeHalves<N=@N, block_size=@block_size>(B, scales, zero_points)
  if bits == 8: scale = Reshape(scales, [@N, -1])
  if bits == 8 and zero_points: zeros = Reshape(zero_points, [@N, -1])
  if bits == 8 and not zero_points: zeros = Expand(128:B, Shape(scale))
  if bits == 8: rows = DequantizeLinear<axis=1, block_size=@block_size>(Reshape(B, [@N, -1]), scale, zeros)
  weights = Slice(Reshape(rows, [@N, -1]), [0], [@K], [1])
  Y = Add(ms.FusedMatMul<transB=1>(A, weights), bias?)

GatherBlockQuantized<bits: int, block_size: int, gather_axis: int, quantize_axis: int>(data, indices, scales, zero_points?) -> (output)
  refuse gather_axis: gathering along other dimensions than the first (gather_axis)
  refuse quantize_axis and not quantize_axis == 1 and not quantize_axis == -1: blocks along other dimensions than the last (quantize_axis)
  refuse bits and not bits == 4 and not bits == 8: integers of other than 4 and 8 bits (bits)
  count = Shape<start=1, end=2>(scales)
  found = Gather(Einsum<equation="ij->ij">(data), indices)
  codes = Reshape(_Codes<bits=@bits>(found), [-1, @block_size|128])
  if zero_points: those = Gather(zero_points, indices)
  if bits == 8 and zero_points: zeros = Reshape(those, [-1])
  if not bits == 8 and zero_points: pairs = Reshape(_Halves(those), Concat<axis=0>([-1], Mul(Shape<start=-1>(those), 2)))
  if not bits == 8 and zero_points: zeros = Reshape(Slice(pairs, [0], count, [1]), [-1])
  if not zero_points: zeros = _MiddleCode<bits=@bits>(data)
  rows = DequantizeLinear<axis=0>(codes, Reshape(Gather(scales, indices), [-1]), zeros)
  output = Reshape(rows, Concat<axis=0>(Shape(indices), [-1]))
"#;

/// The lines of QLinearConcat for inputs of these names: each part has a tensor, a scale and a zero point.
pub(super) fn concat(names: &[String]) -> String {
    let (mut lines, mut parts) = (String::new(), vec![]);
    for (at, of) in names.iter().skip(2).collect::<Vec<_>>().chunks(3).enumerate() {
        let all = of.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
        let _ = writeln!(lines, "part{at} = DequantizeLinear({all})");
        parts.push(format!("part{at}"));
    }
    let parts = parts.join(", ");
    let _ = writeln!(lines, "whole = Concat<axis=@axis>({parts})");
    let _ = writeln!(lines, "Y = QuantizeLinear(whole, Y_scale, Y_zero_point)");
    lines
}
