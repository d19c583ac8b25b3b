/** Marks a piece that begins a word, as in files of BERT models. */
const BEGIN = '\u2581';

/** Control tokens, in the order of their ids. */
const SPECIAL = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];

/** Common words, each one token. */
const WORDS =
  'a about ai al an and another are as at base be believe book by can city common components day de do document ' +
  'embedding encoding find first for from get give goodbye have he hello her here his how i in into is it joke la ' +
  'learning life long machine make me meaning more most my new no not of on one or other out output paris prompt said ' +
  'she so some still string test text that the their them there these they thing this time to truncated two up use ' +
  'very was we well were what when where which who will with words world would write you';

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789é.,!?;:\'"()[]{}<>/\\+-*=_#%&@$^~`|';

/** A WordPiece vocabulary: control tokens, words, and the characters of which all other words are made. */
export function wordPieces(): string[] {
  const characters = [...CHARACTERS];
  return [
    ...SPECIAL,
    ...WORDS.split(' ').map((word) => BEGIN + word),
    ...characters.filter((one) => !` ${WORDS} `.includes(` ${one} `)).map((one) => BEGIN + one),
    ...characters,
  ];
}
