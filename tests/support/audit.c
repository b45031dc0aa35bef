#include "support/audit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST_TENSORS = 512 };

typedef struct {
    const tn_network *network;
    const tn_program *program;
    uint64_t set[MOST_TENSORS], all;
    long last[MOST_TENSORS]; /* the last step that reads each tensor, or -1 */
} audit;

/* Indices of input `t`; the closed network's last tensor is dY. */
static tn_indices closed(const audit *a, uint32_t t) {
    return t < a->network->tensors ? a->network->tensor[t] : a->network->output;
}

static bool has(tn_indices indices, uint32_t index) {
    for (uint32_t i = 0; i < indices.count; i++)
        if (indices.index[i] == index) return true;
    return false;
}

static bool touches(const audit *a, uint64_t set, uint32_t index) {
    for (uint32_t t = 0; t <= a->network->tensors; t++)
        if ((set >> t & 1) && has(closed(a, t), index)) return true;
    return false;
}

static bool on_contraction(const audit *a, uint64_t set, uint32_t index) {
    return touches(a, set, index) && touches(a, a->all & ~set, index);
}

static void check_tensor(const audit *a, uint32_t t) {
    const tn_program_tensor *tensor = &a->program->tensor[t];
    uint64_t elements = 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < a->network->indices; i++) {
        bool expected = on_contraction(a, a->set[t], i);
        assert_int_equal(has(tensor->indices, i), expected);
        if (expected) elements *= a->network->index_size[i];
        count += expected;
    }
    assert_int_equal(tensor->indices.count, count);
    assert_int_equal(tensor->elements, elements);
}

static void check_order(tn_indices given, tn_indices expected) {
    assert_int_equal(given.count, expected.count);
    for (uint32_t i = 0; i < given.count; i++) assert_int_equal(given.index[i], expected.index[i]);
}

static void check_inputs(audit *a) {
    const tn_program *p = a->program;
    uint32_t n = a->network->tensors;
    assert_int_equal(p->inputs, n + p->training);
    assert_true(p->tensors < MOST_TENSORS && p->inputs <= 64);
    for (uint32_t t = 0; t < p->inputs; t++) {
        tn_role role = t == 0 ? TN_ROLE_X : t < n ? TN_ROLE_CORE : TN_ROLE_DY;
        assert_int_equal(p->tensor[t].role, role);
        if (role == TN_ROLE_CORE) assert_int_equal(p->tensor[t].core, t - 1);
        assert_int_equal(p->tensor[t].made_by, TN_NO_STEP);
        check_order(p->tensor[t].indices, closed(a, t));
        a->set[t] = UINT64_C(1) << t;
        check_tensor(a, t);
    }
}

/* The MACs of a step from its operands' indices, and its four factors' product. */
static void check_macs(const audit *a, const tn_program_step *step) {
    const tn_program_tensor *tensor = a->program->tensor;
    uint64_t macs = 1;
    for (uint32_t i = 0; i < a->network->indices; i++)
        if (has(tensor[step->a].indices, i) || has(tensor[step->b].indices, i))
            macs *= a->network->index_size[i];
    const tn_product_shape *shape = &step->shape;
    assert_int_equal(step->macs, macs);
    assert_int_equal(shape->batch * shape->rows * shape->reduction * shape->columns, macs);
    assert_int_equal(shape->batch * shape->rows * shape->columns, tensor[step->out].elements);
    assert_int_equal(shape->batch * shape->rows * shape->reduction, tensor[step->a].elements);
    assert_int_equal(shape->batch * shape->reduction * shape->columns, tensor[step->b].elements);
}

static void check_output(const audit *a, uint32_t t) {
    const tn_program_tensor *tensor = &a->program->tensor[t];
    uint64_t left_out = a->all & ~a->set[t];
    uint32_t n = a->network->tensors;
    switch (tensor->role) {
    case TN_ROLE_Y:
        assert_int_equal(left_out, UINT64_C(1) << n);
        check_order(tensor->indices, a->network->output);
        break;
    case TN_ROLE_DX:
        assert_int_equal(left_out, 1);
        check_order(tensor->indices, a->network->tensor[0]);
        break;
    case TN_ROLE_CORE_GRADIENT:
        assert_int_equal(left_out, UINT64_C(1) << (tensor->core + 1));
        check_order(tensor->indices, a->network->tensor[tensor->core + 1]);
        break;
    default:
        assert_int_equal(tensor->role, TN_ROLE_INTERMEDIATE);
        assert_true(tensor->last_use != TN_NO_STEP);
    }
}

static void check_steps(audit *a) {
    const tn_program *p = a->program;
    assert_int_equal(p->tensors, p->inputs + p->steps);
    for (uint32_t s = 0; s < p->steps; s++) {
        const tn_program_step *step = &p->step[s];
        assert_int_equal(step->out, p->inputs + s);
        assert_int_equal(p->tensor[step->out].made_by, s);
        assert_true(step->a < step->out && step->b < step->out);
        assert_int_equal(a->set[step->a] & a->set[step->b], 0);
        assert_int_equal(step->phase == TN_FORWARD, s < p->forward_steps);
        a->set[step->out] = a->set[step->a] | a->set[step->b];
        if (s < p->forward_steps) assert_false(a->set[step->out] >> a->network->tensors & 1);
        check_macs(a, step);
        check_tensor(a, step->out);
        check_output(a, step->out);
    }
}

static void check_outputs_once(const audit *a, bool input_gradient) {
    const tn_program *p = a->program;
    uint32_t y = 0, dx = 0, cores = 0;
    for (uint32_t t = 0; t < p->tensors; t++) {
        y += p->tensor[t].role == TN_ROLE_Y;
        dx += p->tensor[t].role == TN_ROLE_DX;
        cores += p->tensor[t].role == TN_ROLE_CORE_GRADIENT;
        for (uint32_t u = t + 1; p->tensor[t].role == TN_ROLE_CORE_GRADIENT && u < p->tensors; u++)
            assert_false(p->tensor[u].role == TN_ROLE_CORE_GRADIENT &&
                         p->tensor[u].core == p->tensor[t].core);
    }
    assert_int_equal(y, 1);
    assert_int_equal(dx, p->training && input_gradient);
    assert_int_equal(cores, p->training ? a->network->tensors - 1 : 0);
}

static void find_last_reads(audit *a) {
    for (uint32_t t = 0; t < a->program->tensors; t++) a->last[t] = -1;
    for (uint32_t s = 0; s < a->program->steps; s++)
        a->last[a->program->step[s].a] = a->last[a->program->step[s].b] = s;
}

/* Steps that are executed once: the first ones and the last ones. */
static void check_once(const tn_program *p) {
    for (uint32_t s = 0; s < p->steps; s++) {
        bool once = s < p->prelude_steps || s >= p->steps - p->epilogue_steps;
        assert_int_equal(p->step[s].once, once);
        if (once) assert_true(p->micro_batches > 1);
        assert_int_equal(p->step[s].phase == TN_FORWARD, s < p->forward_steps);
    }
    assert_true(p->prelude_steps < p->forward_steps);
    assert_true(p->micro_batches >= 1);
}

static bool is_sum(const audit *a, uint32_t t) {
    const tn_program *p = a->program;
    const tn_program_tensor *tensor = &p->tensor[t];
    long made = tensor->made_by, epilogue = (long)p->steps - p->epilogue_steps;
    if (p->micro_batches == 1 || tensor->made_by == TN_NO_STEP) return false;
    if (made < (long)p->prelude_steps || made >= epilogue) return false;
    return tensor->role == TN_ROLE_CORE_GRADIENT || a->last[t] >= epilogue;
}

static bool live_at(const audit *a, uint32_t t, long step) {
    const tn_program *p = a->program;
    const tn_program_tensor *tensor = &p->tensor[t];
    long made = tensor->made_by == TN_NO_STEP ? 0 : (long)tensor->made_by, last = a->last[t];
    long prelude = p->prelude_steps, forward = p->forward_steps,
         epilogue = (long)p->steps - p->epilogue_steps;
    switch (tensor->role) {
    case TN_ROLE_CORE:
        return true;
    case TN_ROLE_X:
        return step >= prelude && (step < forward || (step <= last && step < epilogue));
    case TN_ROLE_DY:
        return step >= forward && step < epilogue;
    case TN_ROLE_Y:
        return made <= step && step < forward;
    case TN_ROLE_DX:
        return made <= step && step < epilogue;
    case TN_ROLE_CORE_GRADIENT:
        return (is_sum(a, t) ? prelude : made) <= step;
    default:
        break;
    }
    if (is_sum(a, t)) return prelude <= step && step <= last;
    /* Of the prelude and read in the body: to its end. */
    if (made < prelude && last >= prelude && last < epilogue) last = epilogue - 1;
    return made <= step && step <= last;
}

static bool is_kept(const audit *a, uint32_t t) {
    const tn_program *p = a->program;
    const tn_program_tensor *tensor = &p->tensor[t];
    long last = a->last[t], made = tensor->made_by;
    if (tensor->role == TN_ROLE_X) return last >= (long)p->forward_steps;
    if (tensor->role != TN_ROLE_INTERMEDIATE || made >= (long)p->forward_steps) return false;
    return last >= (long)(made < (long)p->prelude_steps ? p->prelude_steps : p->forward_steps);
}

static void check_sums(const audit *a) {
    const tn_program *p = a->program;
    uint64_t macs[TN_PHASES] = {0}, peak[TN_PHASES] = {0}, saved = 0, saved_x = 0, recomputed = 0;
    for (uint32_t s = 0; s < p->steps; s++) {
        uint64_t live = 0, times = p->step[s].once ? 1 : p->micro_batches;
        for (uint32_t t = 0; t < p->tensors; t++)
            if (live_at(a, t, s)) live += p->tensor[t].elements;
        macs[p->step[s].phase] += times * p->step[s].macs;
        if (p->step[s].recomputed) recomputed += times * p->step[s].macs;
        if (live > peak[p->step[s].phase]) peak[p->step[s].phase] = live;
    }
    for (uint32_t t = 0; t < p->tensors; t++) {
        const tn_program_tensor *tensor = &p->tensor[t];
        long last = a->last[t];
        assert_int_equal(tensor->last_use, last < 0 ? TN_NO_STEP : (uint32_t)last);
        assert_int_equal(tensor->saved, is_kept(a, t));
        assert_int_equal(tn_program_is_sum(p, t), is_sum(a, t));
        if (is_kept(a, t)) *(tensor->role == TN_ROLE_X ? &saved_x : &saved) += tensor->elements;
    }
    for (int phase = 0; phase < TN_PHASES; phase++) {
        assert_int_equal(p->macs[phase], macs[phase]);
        assert_int_equal(p->peak_elements[phase], peak[phase]);
    }
    assert_int_equal(p->saved_elements, saved);
    assert_int_equal(p->saved_input_elements, saved_x);
    assert_int_equal(p->recomputed_macs, recomputed);
}

void test_audit_program(const tn_network *network, const tn_program *program, bool input_gradient) {
    audit a = {.network = network, .program = program};
    a.all = (UINT64_C(2) << network->tensors) - 1;
    check_inputs(&a);
    check_steps(&a);
    check_outputs_once(&a, input_gradient);
    find_last_reads(&a);
    check_once(program);
    check_sums(&a);
}
