//! Definitions of ai.onnx's losses, which ONNX specifies by other operators too.

/// An ignored class is read as class 0, with a loss and a weight of 0.
pub(super) const TEXT: &str = r#"
NegativeLogLikelihoodLoss<ignore_index: int, reduction: text>(input, target, weight?) -> (loss)
  refuse reduction and not reduction in none sum mean: its reduction is not known
  if ignore_index given: ignored = Equal(target, @ignore_index:target)
  if ignore_index given: class = Where(ignored, 0:target, target)
  if not ignore_index given: class = Identity(target)
  chosen = Neg(Squeeze(GatherElements<axis=1>(input, Unsqueeze(class, [1])), [1]))
  if ignore_index given: losses = Where(ignored, 0:input, chosen)
  if not ignore_index given: losses = Identity(chosen)
  if weight: factors = Gather(weight, class)
  if weight: weighted = Mul(losses, factors)
  if not weight: weighted = Identity(losses)
  if reduction in none: loss = Identity(weighted)
  if reduction in sum: loss = ReduceSum<keepdims=0>(weighted)
  if not weight and not ignore_index given and not reduction in none sum: loss = ReduceMean<keepdims=0>(weighted)
  if weight and not ignore_index given: counted = Identity(factors)
  if weight and ignore_index given: counted = Where(ignored, 0:input, factors)
  if not weight and ignore_index given: counted = Where(ignored, 0:input, 1:input)
  if weight and not reduction in none sum: loss = Div(ReduceSum<keepdims=0>(weighted), ReduceSum<keepdims=0>(counted))
  if not weight and ignore_index given and not reduction in none sum: loss = Div(ReduceSum<keepdims=0>(weighted), ReduceSum<keepdims=0>(counted))

SoftmaxCrossEntropyLoss<ignore_index: int, reduction: text>(scores, labels, weights?) -> (output, log_prob?)
  log_prob = LogSoftmax<axis=1>(scores)
  output = NegativeLogLikelihoodLoss<ignore_index=@ignore_index, reduction=@reduction>(log_prob, labels, weights)
"#;
