//! Definitions of activations, products and normalizations that are fused with other operators.

pub(super) const TEXT: &str = r#"
ExpandDims<>(X, axis) -> (Y)
  Y = Unsqueeze(X, Reshape(Cast<to=7>(axis), [-1]))

BiasAdd<>(X, bias, skip) -> (Y)
  Y = Add(Add(X, bias), skip)

BiasGelu<>(A, B) -> (C)
  C = Gelu(Add(A, B))

FastGelu<>(X, bias?) -> (Y)
  Y = Gelu<approximate="tanh">(Add(X, bias?))

BiasSplitGelu<>(X, bias) -> (Y)
  left, right = Split<axis=-1, num_outputs=2>(Add(X, bias))
  Y = Mul(left, Gelu(right))

SkipLayerNormalization<epsilon: float>(input, skip, gamma, beta?, bias?) -> (output, mean?, inv_std_var?, input_skip_bias_sum?)
  input_skip_bias_sum = Add(Add(input, skip), bias?)
  output, mean?, inv_std_var? = LayerNormalization<epsilon=@epsilon|1e-12>(input_skip_bias_sum, gamma, beta)

SkipSimplifiedLayerNormalization<epsilon: float>(input, skip, gamma, bias?) -> (output, mean?, inv_std_var?, input_skip_bias_sum?)
  refuse mean: the mean as an output
  refuse inv_std_var: the deviation as an output
  input_skip_bias_sum = Add(Add(input, skip), bias?)
  output = RMSNormalization<epsilon=@epsilon|1e-12>(input_skip_bias_sum, gamma)

GatedAdd<>(X, Y, gate, gate_weight?) -> (output)
  refuse gate_weight: a projection of the gate (gate_weight)
  output = Add(X, Mul(Y, gate))

GatedRMSNorm<activation: text, epsilon: float>(X, scale, gate) -> (Y)
  refuse activation and not activation in silu swish sigmoid: its activation is not known
  x = Cast<to=1>(Reshape(X, Concat<axis=0>(Shape<end=-1>(X), [-1], Shape(scale))))
  y = Reshape(RMSNormalization<epsilon=@epsilon|1e-5>(x, Cast<to=1>(scale)), Shape(X))
  if activation in sigmoid: g = Sigmoid(Cast<to=1>(gate))
  if not activation in sigmoid: g = Swish(Cast<to=1>(gate))
  Y = CastLike(Mul(y, g), X)

LinearAttentionGate<>(a, dt_bias, decay_scale, b?) -> (decay, beta?)
  refuse beta and not b: its output beta needs the input b
  decay = CastLike(Mul(decay_scale, Softplus(Add(Cast<to=1>(a), dt_bias))), a)
  if b: beta? = Sigmoid(b)

EmbedLayerNormalization<epsilon: float, mask_index_type: int>(input_ids, segment_ids?, word_embedding, position_embedding, segment_embedding?, gamma, beta, mask?, position_ids?) -> (output, mask_index?, embedding_sum?)
  words = Gather(word_embedding, input_ids)
  if position_ids: places = Gather(position_embedding, position_ids)
  if not position_ids: places = Slice(position_embedding, [0], Shape<start=1, end=2>(input_ids), [0])
  both = Add(words, places)
  if segment_ids: segments = Gather(segment_embedding, segment_ids)
  embedding_sum = Add(both, segments?)
  output = LayerNormalization<epsilon=@epsilon|1e-12>(embedding_sum, gamma, beta)
  if mask: mask_index? = ReduceSum<keepdims=0>(Cast<to=6>(Equal(mask, 1:mask)), [1])
  if not mask: mask_index? = Cast<to=6>(Expand(0, Shape<end=1>(input_ids)))

GroupNorm<activation: int, channels_last: int, epsilon: float, groups: int!>(X, gamma, beta) -> (Y)
  Y = _GroupNorm<activation=@activation, channels_last=@channels_last, epsilon=@epsilon, groups=@groups>(X, gamma, beta)

SkipGroupNorm<activation: int, channels_last: int, epsilon: float, groups: int!>(X, gamma, beta, skip, bias?) -> (Y, S?)
  S = Add(Add(X, skip), bias?)
  Y = _GroupNorm<activation=@activation, channels_last=@channels_last, epsilon=@epsilon, groups=@groups>(S, gamma, beta)

_GroupNorm<activation: int, channels_last: int, epsilon: float, groups: int>(X, gamma, beta) -> (Y)
  refuse activation > 1: activations other than SiLU (activation)
  x = _ChannelsFirst<channels_last=@channels_last|1>(X)
  y = GroupNormalization<num_groups=@groups, epsilon=@epsilon>(x, gamma, beta)
  if activation == 1: z = Swish(y)
  if not activation == 1: z = Identity(y)
  Y = _ChannelsAsGiven<channels_last=@channels_last|1>(z)

_ChannelsFirst<channels_last: int>(X) -> (Y)
  if channels_last: Y = Transpose<perm=[0, 3, 1, 2]>(X)
  if not channels_last: Y = Identity(X)

_ChannelsAsGiven<channels_last: int>(X) -> (Y)
  if channels_last: Y = Transpose<perm=[0, 2, 3, 1]>(X)
  if not channels_last: Y = Identity(X)

_Activated<activation: text, alpha: float, beta: float, gamma: float>(X) -> (Y)
  refuse activation and not activation in Relu Tanh Sigmoid LeakyRelu HardSigmoid Clip Elu Selu Softplus Softsign HardSwish ThresholdedRelu: its activation is not known
  if not activation: Y = Identity(X)
  if activation in Relu: Y = Relu(X)
  if activation in Tanh: Y = Tanh(X)
  if activation in Sigmoid: Y = Sigmoid(X)
  if activation in LeakyRelu: Y = LeakyRelu<alpha=@alpha>(X)
  if activation in HardSigmoid: Y = HardSigmoid<alpha=@alpha, beta=@beta>(X)
  if activation in Clip: Y = Clip(X, @alpha|-3.4028235e38:X, @beta|3.4028235e38:X)
  if activation in Elu: Y = Elu<alpha=@alpha>(X)
  if activation in Selu: Y = Selu<alpha=@alpha, gamma=@gamma>(X)
  if activation in Softplus: Y = Softplus(X)
  if activation in Softsign: Y = Softsign(X)
  if activation in HardSwish: Y = HardSwish(X)
  if activation in ThresholdedRelu: Y = ThresholdedRelu<alpha=@alpha>(X)

FusedMatMulActivation<activation: text!, activation_alpha: float, activation_axis: int, activation_beta: float, activation_gamma: float, alpha: float, transA: int, transB: int, transBatchA: int, transBatchB: int>(A, B) -> (Y)
  y = ms.FusedMatMul<alpha=@alpha, transA=@transA, transB=@transB, transBatchA=@transBatchA, transBatchB=@transBatchB>(A, B)
  if activation in Softmax: Y = Softmax<axis=@activation_axis|-1>(y)
  if not activation in Softmax: Y = _Activated<activation=@activation, alpha=@activation_alpha, beta=@activation_beta, gamma=@activation_gamma>(y)

FusedGemm<activation: text, activation_alpha: float, activation_beta: float, activation_gamma: float, alpha: float, beta: float, transA: int, transB: int>(A, B, C?) -> (Y)
  y = Gemm<alpha=@alpha, beta=@beta, transA=@transA, transB=@transB>(A, B, C)
  Y = _Activated<activation=@activation, alpha=@activation_alpha, beta=@activation_beta, gamma=@activation_gamma>(y)

FusedConv<activation: text, activation_params: floats, auto_pad: text, dilations: ints, group: int, kernel_shape: ints, pads: ints, strides: ints>(X, W, B?, Z?) -> (Y)
  y = Conv<auto_pad=@auto_pad, dilations=@dilations, group=@group, kernel_shape=@kernel_shape, pads=@pads, strides=@strides>(X, W, B)
  Y = _Activated<activation=@activation, alpha=@activation_params[0], beta=@activation_params[1]>(Add(y, Z?))

NhwcConv<auto_pad: text, dilations: ints, group: int, kernel_shape: ints, pads: ints, strides: ints>(X, W, B?) -> (Y)
  y = Conv<auto_pad=@auto_pad, dilations=@dilations, group=@group, kernel_shape=@kernel_shape, pads=@pads, strides=@strides>(Transpose<perm=[0, 3, 1, 2]>(X), W, B)
  Y = Transpose<perm=[0, 2, 3, 1]>(y)

NhwcFusedConv<activation: text, activation_params: floats, auto_pad: text, dilations: ints, group: int, kernel_shape: ints, pads: ints, strides: ints>(X, W, B?, Z?) -> (Y)
  y = ms.NhwcConv<auto_pad=@auto_pad, dilations=@dilations, group=@group, kernel_shape=@kernel_shape, pads=@pads, strides=@strides>(X, W, B)
  Y = _Activated<activation=@activation, alpha=@activation_params[0], beta=@activation_params[1]>(Add(y, Z?))

NhwcMaxPool<auto_pad: text, ceil_mode: int, dilations: ints, kernel_shape: ints!, pads: ints, strides: ints>(x) -> (y)
  top = MaxPool<auto_pad=@auto_pad, ceil_mode=@ceil_mode, dilations=@dilations, kernel_shape=@kernel_shape, pads=@pads, strides=@strides>(Transpose<perm=[0, 3, 1, 2]>(x))
  y = Transpose<perm=[0, 2, 3, 1]>(top)
"#;
