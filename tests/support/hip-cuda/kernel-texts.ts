import { FileKernelTexts, KERNEL_FOLDER } from '../../../src/node/file-kernel-texts.ts';
import { TEST_KERNEL_FOLDER } from './emulator.ts';

/** The kernel files of the package and of the tests. */
export const ALL_TEXTS = new FileKernelTexts([KERNEL_FOLDER, TEST_KERNEL_FOLDER]);
