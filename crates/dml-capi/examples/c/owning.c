/*
 * Owning mode: the library creates the Vulkan device and its memory; an operator is one call.
 *
 *   cc owning.c $(pkg-config --cflags --libs dmlvk) -o owning
 *   ./owning [DEVICE]        a part of its name, its index, or its UUID
 */
#include <dmlvk/dmlvk.h>

#include <stdio.h>

#define CHECK(call)                                                                                \
    do {                                                                                           \
        if (FAILED(call)) {                                                                        \
            fprintf(stderr, "%s\n", dmlvk_last_message());                                         \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

int main(int argc, char **argv)
{
    DmlVkDeviceDesc device_desc = {0};
    device_desc.struct_size = sizeof device_desc;
    device_desc.minimum_feature_level = DML_FEATURE_LEVEL_5_1;
    device_desc.device = argc > 1 ? argv[1] : NULL;
    DmlVkDevice device;
    CHECK(dmlvk_create_device(&device_desc, &device));

    /* A 3x4 matrix of INT64 with sevens right above the main diagonal. */
    UINT sizes[] = {3, 4};
    DML_BUFFER_TENSOR_DESC buffer_desc = {0};
    buffer_desc.DataType = DML_TENSOR_DATA_TYPE_INT64;
    buffer_desc.DimensionCount = 2;
    buffer_desc.Sizes = sizes;
    buffer_desc.TotalTensorSizeInBytes = 3 * 4 * sizeof(INT64);
    DML_TENSOR_DESC tensor_desc = {DML_TENSOR_TYPE_BUFFER, &buffer_desc};
    DML_DIAGONAL_MATRIX_OPERATOR_DESC diagonal = {&tensor_desc, 1, 7.0f};
    DML_OPERATOR_DESC desc = {DML_OPERATOR_DIAGONAL_MATRIX, &diagonal};
    DmlVkOperator compiled;
    CHECK(dmlvk_compile_operator(device, &desc, DML_EXECUTION_FLAG_NONE, &compiled));

    INT64 result[12];
    DmlVkBuffer buffer;
    CHECK(dmlvk_create_buffer(device, sizeof result, &buffer));
    DmlVkBufferBinding output = {buffer, 0, sizeof result};
    CHECK(dmlvk_execute_operator(compiled, NULL, 0, &output, 1));
    CHECK(dmlvk_read_buffer(buffer, 0, result, sizeof result));

    int wrong = 0;
    for (int y = 0; y < 3; y++) {
        for (int x = 0; x < 4; x++) {
            INT64 value = result[4 * y + x];
            printf("%d ", (int)value);
            wrong += value != (x == y + 1 ? 7 : 0);
        }
        printf("\n");
    }
#ifndef OMIT_DESTROY
    /* Everything that was made from the device goes with it. */
    CHECK(dmlvk_destroy_device(device));
#endif
    return wrong;
}
