/*
 * A layer twice: relu(x + weights), with weights that the library keeps. Both operators are initialized by one
 * call, and executed by one submission.
 *
 *   cc streaming.c $(pkg-config --cflags --libs dmlvk) -o streaming
 *   ./streaming [DEVICE]     a part of its name, its index, or its UUID
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

enum { LAYERS = 2, LENGTH = 6, BYTES = LENGTH * sizeof(FLOAT) };

/* Where in the buffer what is: every offset is a multiple of 16, of resources of 256. */
enum { WEIGHTS = 0, STEP = 32, VALUES = 256, PERSISTENT = 1024, TEMPORARY = 8192, SIZE = 16384 };

int main(int argc, char **argv)
{
    DmlVkDeviceDesc device_desc = {0};
    device_desc.struct_size = sizeof device_desc;
    device_desc.minimum_feature_level = DML_FEATURE_LEVEL_5_0;
    device_desc.device = argc > 1 ? argv[1] : NULL;
    DmlVkDevice device;
    CHECK(dmlvk_create_device(&device_desc, &device));

    UINT sizes[] = {1, 1, 1, LENGTH};
    DML_BUFFER_TENSOR_DESC value_desc = {0};
    value_desc.DataType = DML_TENSOR_DATA_TYPE_FLOAT32;
    value_desc.DimensionCount = 4;
    value_desc.Sizes = sizes;
    value_desc.TotalTensorSizeInBytes = BYTES;
    DML_BUFFER_TENSOR_DESC weight_desc = value_desc;
    weight_desc.Flags = DML_TENSOR_FLAG_OWNED_BY_DML;
    DML_TENSOR_DESC value = {DML_TENSOR_TYPE_BUFFER, &value_desc};
    DML_TENSOR_DESC weight = {DML_TENSOR_TYPE_BUFFER, &weight_desc};
    DML_ACTIVATION_RELU_OPERATOR_DESC relu = {NULL, NULL};
    DML_OPERATOR_DESC fused = {DML_OPERATOR_ACTIVATION_RELU, &relu};
    DML_ELEMENT_WISE_ADD1_OPERATOR_DESC add = {&value, &weight, &value, &fused};
    DML_OPERATOR_DESC desc = {DML_OPERATOR_ELEMENT_WISE_ADD1, &add};
    DmlVkOperator layers[LAYERS];
    for (int i = 0; i < LAYERS; i++)
        CHECK(dmlvk_compile_operator(device, &desc, DML_EXECUTION_FLAG_NONE, &layers[i]));

    const FLOAT weights[LAYERS][LENGTH] = {{1, -1, 2, -2, 3, -3}, {-4, 4, -4, 4, -4, 4}};
    const FLOAT values[LENGTH] = {1, 2, 3, 4, 5, 6};
    DmlVkBuffer buffer;
    CHECK(dmlvk_create_buffer(device, SIZE, &buffer));
    for (int i = 0; i < LAYERS; i++)
        CHECK(dmlvk_write_buffer(buffer, WEIGHTS + i * STEP, weights[i], BYTES));
    CHECK(dmlvk_write_buffer(buffer, VALUES, values, sizeof values));

    /* IDMLOperatorInitializer: the second inputs go to the persistent resources. */
    DML_BINDING_PROPERTIES needs;
    CHECK(dmlvk_get_binding_properties(layers[0], &needs));
    DmlVkBufferBinding none = {0};
    DmlVkBufferBinding temporary = none;
    if (needs.TemporaryResourceSize > 0) {
        DmlVkBufferBinding needed = {buffer, TEMPORARY, needs.TemporaryResourceSize};
        temporary = needed;
    }
    DmlVkBufferBinding owned[LAYERS][2];
    DmlVkBindings initial[LAYERS] = {0};
    for (int i = 0; i < LAYERS; i++) {
        DmlVkBufferBinding weight_binding = {buffer, WEIGHTS + i * STEP, BYTES};
        DmlVkBufferBinding persistent = {buffer, PERSISTENT + i * 1024, needs.PersistentResourceSize};
        owned[i][0] = none;
        owned[i][1] = weight_binding;
        initial[i].struct_size = sizeof initial[i];
        initial[i].input_count = 2;
        initial[i].inputs = owned[i];
        initial[i].temporary = temporary;
        initial[i].persistent = persistent;
    }
    DmlVkBindingTable tables[1 + LAYERS];
    CHECK(dmlvk_create_initializer_table(device, LAYERS, layers, initial, &tables[0]));

    /* The layers, one after the other, in place. */
    DmlVkBufferBinding values_binding = {buffer, VALUES, BYTES};
    for (int i = 0; i < LAYERS; i++) {
        DmlVkBufferBinding inputs[2] = {values_binding, none};
        DmlVkBindings bindings = initial[i];
        bindings.inputs = inputs;
        bindings.outputs = &values_binding;
        bindings.output_count = 1;
        CHECK(dmlvk_create_binding_table(layers[i], DMLVK_PHASE_EXECUTE, &bindings, &tables[1 + i]));
    }

    /* Everything is one submission; each table sees what those before it wrote. */
    DmlVkSubmission submission;
    CHECK(dmlvk_submit_tables(device, 1 + LAYERS, tables, NULL, &submission));
    CHECK(dmlvk_wait_submission(submission, UINT64_MAX, NULL));
    FLOAT result[LENGTH];
    CHECK(dmlvk_read_buffer(buffer, VALUES, result, sizeof result));

    int wrong = 0;
    for (int i = 0; i < LENGTH; i++) {
        FLOAT expected = values[i];
        for (int layer = 0; layer < LAYERS; layer++) {
            expected += weights[layer][i];
            expected = expected > 0 ? expected : 0;
        }
        printf("%g ", result[i]);
        wrong += result[i] != expected;
    }
    printf("\n");
    CHECK(dmlvk_destroy_device(device));
    return wrong;
}
