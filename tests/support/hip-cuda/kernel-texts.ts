import { FileKernelTexts, KERNEL_FOLDER } from '../../../src/node/file-kernel-texts.ts';
import { TEST_KERNEL_FOLDER } from './emulator.ts';

/** The package's kernel texts and the tests'. */
export const ALL_TEXTS = new FileKernelTexts([KERNEL_FOLDER, TEST_KERNEL_FOLDER]);
