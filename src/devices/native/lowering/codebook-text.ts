import {
  IQ1_BOOK,
  IQ2_S_BOOK,
  IQ2_XS_BOOK,
  IQ2_XXS_BOOK,
  IQ3_S_BOOK,
  IQ3_XXS_BOOK,
} from '../../../formats/index.ts';

/** Headers that are made from the formats' own tables: entries of `width` signed bytes, the first in the lowest bits. */
const CODEBOOKS: Readonly<Record<string, { book: () => Int8Array; width: 4 | 8 }>> = {
  'formats/codebook-iq1.h': { book: IQ1_BOOK, width: 8 },
  'formats/codebook-iq2-xxs.h': { book: IQ2_XXS_BOOK, width: 8 },
  'formats/codebook-iq2-xs.h': { book: IQ2_XS_BOOK, width: 8 },
  'formats/codebook-iq2-s.h': { book: IQ2_S_BOOK, width: 8 },
  'formats/codebook-iq3-xxs.h': { book: IQ3_XXS_BOOK, width: 4 },
  'formats/codebook-iq3-s.h': { book: IQ3_S_BOOK, width: 4 },
};

/** The text of a kernel header that no file holds; undefined for other names. */
export function codebookText(name: string): string | undefined {
  const codebook = CODEBOOKS[name];
  if (!codebook) return undefined;
  const { width } = codebook;
  const book = codebook.book();
  const entries = Array.from({ length: book.length / width }, (_, entry) => {
    let digits = '';
    for (let i = width - 1; i >= 0; i--) {
      digits += ((book[entry * width + i] as number) & 255).toString(16).padStart(2, '0');
    }
    return `0x${digits}${width === 8 ? 'ull' : 'u'}`;
  });
  const type = width === 8 ? 'u64' : 'u32';
  return `CONSTANT ${type} CODEBOOK[${entries.length}] = {\n${entries.join(',\n')}};\n`;
}
