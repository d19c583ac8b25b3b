import { ALL_FORMATS, type TensorFormat } from '../../../../src/formats/index.ts';

/** The formats for weights; the integer ones (`I8` ... `I64`) are left out. */
export const WEIGHT_FORMATS: readonly TensorFormat[] = ALL_FORMATS.filter(({ name }) => !/^I\d/.test(name));
