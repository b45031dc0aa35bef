/* The check that every view of a step's arrays finds its elements. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "hardware/bank_layout.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Every view must find every element where its storage has it. */
static tn_status check_view(const maker *with, const tn_rtl_array *of, const tn_rtl_array *store) {
    tn_rtl_strides seen = tn_rtl_strides_of(&of->layout), own = tn_rtl_strides_of(&store->layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, y[TN_BANK_LAYOUT_AXES] = {0}, elements = 1;
    for (uint32_t k = 0; k < of->layout.axes; k++) elements *= of->layout.dims[k];
    for (uint64_t i = 0; i < elements; i++) {
        tn_rtl_place a = tn_rtl_place_of(&of->layout, &seen, x), b = tn_rtl_place_of(&store->layout, &own, y);
        if (!seen.told || !own.told || a.bank != b.bank || a.word != b.word || a.element != b.element)
            return tn_fail(with->error, TN_INPUT,
                           "%s: its words do not fit all of its uses; no template builds that", store->name);
        for (uint32_t k = of->layout.axes; k-- > 0;) {
            if (++x[k] < of->layout.dims[k]) break;
            x[k] = 0;
        }
        for (uint32_t k = store->layout.axes; k-- > 0;) {
            if (++y[k] < store->layout.dims[k]) break;
            y[k] = 0;
        }
    }
    return TN_OK;
}

static bool same_shape(const tn_bank_layout *a, const tn_bank_layout *b) {
    return a->axes == b->axes && memcmp(a->dims, b->dims, a->axes * sizeof *a->dims) == 0 &&
           memcmp(a->word, b->word, a->axes * sizeof *a->word) == 0 &&
           memcmp(a->skew[0], b->skew[0], a->axes * sizeof *a->skew[0]) == 0;
}

tn_status tn_rtl_step_check_views(const maker *with) {
    for (uint32_t a = 0; a < with->arrays; a++) {
        const tn_rtl_array *of = &with->array[a];
        if (!of->view_of || same_shape(&of->layout, &with->array[of->view_of - 1].layout)) continue;
        bool known = false; /* an earlier pair of the same shapes */
        for (uint32_t b = 0; b < a && !known; b++)
            known = with->array[b].view_of && same_shape(&with->array[b].layout, &of->layout) &&
                    same_shape(&with->array[with->array[b].view_of - 1].layout,
                               &with->array[of->view_of - 1].layout);
        if (!known) TN_TRY(check_view(with, of, &with->array[of->view_of - 1]));
    }
    return TN_OK;
}
