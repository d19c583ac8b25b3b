// Twice the values of E2M1, by code.
#pragma once
#include "formats/nibbles.h"

CONSTANT i8 FP4_DOUBLED[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
