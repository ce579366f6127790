/* The C compiler's own word on the layout of DirectML's structs: compiling this file is the test. */
#include <dmlvk/dmlvk.h>

#include <stddef.h>

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type)
#define FIELD(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #type "." #field)

#if UINTPTR_MAX > 0xFFFFFFFFu
SIZE(DML_TENSOR_DESC, 16);
FIELD(DML_TENSOR_DESC, Desc, 8);
SIZE(DML_OPERATOR_DESC, 16);
SIZE(DML_BUFFER_TENSOR_DESC, 48);
FIELD(DML_BUFFER_TENSOR_DESC, Sizes, 16);
FIELD(DML_BUFFER_TENSOR_DESC, TotalTensorSizeInBytes, 32);
FIELD(DML_BUFFER_TENSOR_DESC, GuaranteedBaseOffsetAlignment, 40);
SIZE(DML_SCALAR_UNION, 8);
SIZE(DML_DIAGONAL_MATRIX_OPERATOR_DESC, 16);
FIELD(DML_DIAGONAL_MATRIX_OPERATOR_DESC, Value, 12);
SIZE(DML_FILL_VALUE_CONSTANT_OPERATOR_DESC, 24);
FIELD(DML_FILL_VALUE_CONSTANT_OPERATOR_DESC, Value, 16);
SIZE(DML_DIAGONAL_MATRIX1_OPERATOR_DESC, 40);
FIELD(DML_DIAGONAL_MATRIX1_OPERATOR_DESC, Value, 24);
FIELD(DML_DIAGONAL_MATRIX1_OPERATOR_DESC, DiagonalFillEnd, 36);
SIZE(DML_CONVOLUTION_OPERATOR_DESC, 104);
FIELD(DML_CONVOLUTION_OPERATOR_DESC, GroupCount, 88);
SIZE(DML_LSTM_OPERATOR_DESC, 120);
FIELD(DML_LSTM_OPERATOR_DESC, ActivationDescs, 96);
FIELD(DML_LSTM_OPERATOR_DESC, CoupleInputForget, 116);
SIZE(DML_MULTIHEAD_ATTENTION_OPERATOR_DESC, 128);
SIZE(DML_BINDING_PROPERTIES, 24);
SIZE(DmlVkDeviceDesc, 32);
FIELD(DmlVkDeviceDesc, profile, 24);
SIZE(DmlVkRawDeviceDesc, 112);
SIZE(DmlVkRawBufferDesc, 24);
SIZE(DmlVkBufferBinding, 24);
SIZE(DmlVkBindings, 80);
SIZE(DmlVkAccess, 16);
#endif
SIZE(DML_TENSOR_DATA_TYPE, 4);
SIZE(DML_OPERATOR_TYPE, 4);
SIZE(DML_PADDING_MODE, 4);

int main(void)
{
    return dmlvk_abi_version() == DMLVK_ABI_VERSION ? 0 : 1;
}
