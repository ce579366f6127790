// Fills descriptors exactly as a DirectML program does, and compiles them here.
//
//   c++ fill_descs.cpp $(pkg-config --cflags --libs dmlvk) -o fill_descs
//   ./fill_descs [DEVICE]
#include <dmlvk/dmlvk.h>

#include <array>
#include <cstdint>
#include <cstdio>

// From here to the next line it is a DirectML program's own code, unchanged. -------------------------

static UINT64 DMLCalcBufferTensorSize(UINT elementSize, const UINT *sizes, UINT count)
{
    UINT64 elements = 1;
    for (UINT i = 0; i < count; ++i) {
        elements *= sizes[i];
    }
    return (elements * elementSize + 3) & ~UINT64(3);
}

struct IdentityMatrix {
    std::array<UINT, 4> sizes{1, 1, 5, 5};
    DML_BUFFER_TENSOR_DESC bufferDesc = {};
    DML_TENSOR_DESC tensorDesc = {};
    DML_DIAGONAL_MATRIX_OPERATOR_DESC operatorDesc = {};
    DML_OPERATOR_DESC desc = {};

    // Its members point to one another.
    IdentityMatrix(const IdentityMatrix &) = delete;
    IdentityMatrix()
    {
        bufferDesc.DataType = DML_TENSOR_DATA_TYPE_FLOAT16;
        bufferDesc.Flags = DML_TENSOR_FLAG_NONE;
        bufferDesc.DimensionCount = static_cast<UINT>(sizes.size());
        bufferDesc.Sizes = sizes.data();
        bufferDesc.Strides = nullptr;
        bufferDesc.TotalTensorSizeInBytes = DMLCalcBufferTensorSize(2, sizes.data(), bufferDesc.DimensionCount);
        bufferDesc.GuaranteedBaseOffsetAlignment = DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT;
        tensorDesc = DML_TENSOR_DESC{DML_TENSOR_TYPE_BUFFER, &bufferDesc};
        operatorDesc.OutputTensor = &tensorDesc;
        operatorDesc.Offset = 0;
        operatorDesc.Value = 1.0f;
        desc = DML_OPERATOR_DESC{DML_OPERATOR_DIAGONAL_MATRIX, &operatorDesc};
    }
};

static const DML_EXECUTION_FLAGS executionFlags =
    DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION | DML_EXECUTION_FLAG_DISABLE_META_COMMANDS;

// ----------------------------------------------------------------------------------------------------

static bool succeeded(HRESULT code)
{
    if (FAILED(code)) {
        std::fprintf(stderr, "%s\n", dmlvk_last_message());
    }
    return SUCCEEDED(code);
}

int main(int argc, char **argv)
{
    IdentityMatrix identity;
    DmlVkDeviceDesc deviceDesc = {};
    deviceDesc.struct_size = sizeof deviceDesc;
    deviceDesc.minimum_feature_level = DML_FEATURE_LEVEL_2_0;
    deviceDesc.device = argc > 1 ? argv[1] : nullptr;
    DmlVkDevice device = nullptr;
    if (!succeeded(dmlvk_create_device(&deviceDesc, &device))) {
        return 1;
    }
    DmlVkOperator compiled = nullptr;
    DmlVkBuffer buffer = nullptr;
    std::array<std::uint16_t, 26> result{};
    const UINT64 size = identity.bufferDesc.TotalTensorSizeInBytes;
    bool done = succeeded(dmlvk_compile_operator(device, &identity.desc, executionFlags, &compiled)) &&
                succeeded(dmlvk_create_buffer(device, size, &buffer));
    if (done) {
        DmlVkBufferBinding output{buffer, 0, size};
        done = succeeded(dmlvk_execute_operator(compiled, nullptr, 0, &output, 1)) &&
               succeeded(dmlvk_read_buffer(buffer, 0, result.data(), size));
    }
    int wrong = done ? 0 : 1;
    for (unsigned i = 0; done && i < 25; ++i) {
        std::printf("%04x%s", result[i], i % 5 == 4 ? "\n" : " ");
        wrong += result[i] != (i / 5 == i % 5 ? 0x3C00 : 0);
    }
    if (!succeeded(dmlvk_destroy_device(device))) {
        return 1;
    }
    return wrong;
}
