/*
 * A graph: relu(input + weights) as one operator, with the weights in the graph itself.
 *
 *   cc graph.c $(pkg-config --cflags --libs dmlvk) -o graph
 *   ./graph [DEVICE]         a part of its name, its index, or its UUID
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
    /* The level of constant nodes; graphs without them need 2_1. */
    device_desc.minimum_feature_level = DML_FEATURE_LEVEL_6_2;
    device_desc.device = argc > 1 ? argv[1] : NULL;
    DmlVkDevice device;
    CHECK(dmlvk_create_device(&device_desc, &device));

    /* All tensors are 2x3 floats. */
    UINT sizes[] = {2, 3};
    DML_BUFFER_TENSOR_DESC buffer_desc = {0};
    buffer_desc.DataType = DML_TENSOR_DATA_TYPE_FLOAT32;
    buffer_desc.DimensionCount = 2;
    buffer_desc.Sizes = sizes;
    buffer_desc.TotalTensorSizeInBytes = 2 * 3 * sizeof(FLOAT);
    DML_TENSOR_DESC tensor = {DML_TENSOR_TYPE_BUFFER, &buffer_desc};
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC add = {&tensor, &tensor, &tensor};
    DML_ACTIVATION_RELU_OPERATOR_DESC relu = {&tensor, &tensor};
    DML_OPERATOR_DESC add_desc = {DML_OPERATOR_ELEMENT_WISE_ADD, &add};
    DML_OPERATOR_DESC relu_desc = {DML_OPERATOR_ACTIVATION_RELU, &relu};

    /* Nodes, in any order. Names are for messages. */
    const FLOAT weights[] = {0, -1, -2, -3, -4, -5};
    DML_OPERATOR_GRAPH_NODE_DESC add_node = {&add_desc, "sum"};
    DML_OPERATOR_GRAPH_NODE_DESC relu_node = {&relu_desc, "result"};
    DML_CONSTANT_DATA_GRAPH_NODE_DESC weights_node = {weights, sizeof weights, "weights"};
    enum { SUM, RESULT, WEIGHTS };
    DML_GRAPH_NODE_DESC nodes[] = {
        {DML_GRAPH_NODE_TYPE_OPERATOR, &add_node},
        {DML_GRAPH_NODE_TYPE_OPERATOR, &relu_node},
        {DML_GRAPH_NODE_TYPE_CONSTANT, &weights_node},
    };

    /* Edges: node, and which of its inputs or outputs. */
    DML_INPUT_GRAPH_EDGE_DESC into_sum = {0, SUM, 0, NULL};
    DML_OUTPUT_GRAPH_EDGE_DESC out_of_result = {RESULT, 0, 0, NULL};
    DML_INTERMEDIATE_GRAPH_EDGE_DESC weights_to_sum = {WEIGHTS, 0, SUM, 1, NULL};
    DML_INTERMEDIATE_GRAPH_EDGE_DESC sum_to_result = {SUM, 0, RESULT, 0, NULL};
    DML_GRAPH_EDGE_DESC inputs[] = {{DML_GRAPH_EDGE_TYPE_INPUT, &into_sum}};
    DML_GRAPH_EDGE_DESC outputs[] = {{DML_GRAPH_EDGE_TYPE_OUTPUT, &out_of_result}};
    DML_GRAPH_EDGE_DESC between[] = {
        {DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &weights_to_sum},
        {DML_GRAPH_EDGE_TYPE_INTERMEDIATE, &sum_to_result},
    };
    DML_GRAPH_DESC graph = {1, 1, 3, nodes, 1, inputs, 1, outputs, 2, between};
    DmlVkOperator compiled;
    CHECK(dmlvk_compile_graph(device, &graph, DML_EXECUTION_FLAG_NONE, &compiled));

    /* From here on it is an operator with one input and one output. */
    const FLOAT values[] = {1, 2, 1, 4, 1, 6};
    FLOAT result[6];
    DmlVkBuffer buffer;
    CHECK(dmlvk_create_buffer(device, 512, &buffer));
    CHECK(dmlvk_write_buffer(buffer, 0, values, sizeof values));
    DmlVkBufferBinding input = {buffer, 0, sizeof values};
    DmlVkBufferBinding output = {buffer, 256, sizeof result};
    CHECK(dmlvk_execute_operator(compiled, &input, 1, &output, 1));
    CHECK(dmlvk_read_buffer(buffer, 256, result, sizeof result));

    int wrong = 0;
    for (int i = 0; i < 6; i++) {
        FLOAT sum = values[i] + weights[i];
        printf("%g ", result[i]);
        wrong += result[i] != (sum > 0 ? sum : 0);
    }
    printf("\n");
    CHECK(dmlvk_destroy_device(device));
    return wrong;
}
