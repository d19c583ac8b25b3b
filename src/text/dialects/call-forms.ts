/** How values are written that are no JSON. */
export interface LiteralForm {
  /** What opens and closes a string, beside `"` and `'`. */
  readonly quote?: string;
}

/** How a call's object is written. */
export interface ObjectsWritten {
  /** All calls are one list. */
  readonly isList?: boolean;
  /** What comes between the markers and the objects. */
  readonly padding?: string;
  /** The objects' keys. Default: `name` and `arguments`. */
  readonly keys?: { readonly name: string; readonly arguments: string };
  /** The property of the call's id, first or last, of letters and digits or of digits alone. */
  readonly id?: { readonly key: string; readonly isFirst?: boolean; readonly length: number | 'number' };
}

/** Calls that are JSON objects, one or a list, between two markers. */
export interface ObjectCalls {
  readonly open: readonly string[];
  readonly close?: string;
  /** The objects have one property: the name, with the arguments as its value. */
  readonly isKeyed?: boolean;
  /** How calls are written that are to be some. */
  readonly written?: ObjectsWritten;
}

/** Calls that are a name and, after it, the JSON object of the arguments. */
export interface NamedCalls {
  /** What encloses all calls; models leave it out at times. */
  readonly section?: { readonly open: string; readonly close: string };
  /** What precedes the name. */
  readonly open: string;
  /** What precedes the name and is none of it, such as the call's type. */
  readonly type?: string;
  /** What may come between the name and the arguments. */
  readonly between: readonly string[];
  /** What comes between the name and the call's id, where there is one; or between the id and the name. */
  readonly id?: { readonly mark: string; readonly isFirst?: boolean };
  /** How a call is written that is to be one: what stands before and after the arguments, and the letters of an id. */
  readonly written?: { readonly before?: string; readonly behind?: string; readonly idLength?: number };
  /** What follows the arguments. */
  readonly close?: string;
  /** The name says the id, too: `functions.NAME:NUMBER`. */
  readonly isNumbered?: boolean;
  /** After `open`, calls may also be a JSON list of objects. */
  readonly orList?: boolean;
}

/** What ends a parameter's key. */
export interface KeyEnd {
  readonly mark: string;
  /** Whether the value is a string or JSON, where the marker says so. */
  readonly isString?: boolean;
  /** The type that the marker names. */
  readonly type?: string;
}

/** Calls whose parameters stand one by one between markers, strings as they are. */
export interface ParameterCalls {
  /** What encloses a call, or several; models leave it out at times. */
  readonly section?: {
    readonly open: string;
    readonly close: string;
    /** Each call has one of its own. */
    readonly isOfOne?: boolean;
  };
  readonly call: {
    readonly open: string;
    /** What ends the name. */
    readonly nameEnds: readonly string[];
    /** The calls' numbers, from 1, after the name: what precedes and follows them. */
    readonly number?: { readonly open: string; readonly close: string };
    readonly close: string;
  };
  /** What encloses arguments that are written as one JSON object. */
  readonly object?: { readonly open: string; readonly close: string };
  readonly parameter: {
    readonly open: string;
    readonly keyEnds: readonly KeyEnd[];
    /** What precedes the value, after the key's end. */
    readonly valueOpen?: string;
    readonly close: string;
    /** A line break after the opening and one before the closing marker are not the value's. */
    readonly isOnLines?: boolean;
  };
}

/** Calls that look like calls of a programming language: a name, and its arguments by name in brackets. */
export interface FunctionCalls extends LiteralForm {
  readonly open: readonly string[];
  /** A list of calls stands in brackets. */
  readonly isList: boolean;
  /** What precedes each name. */
  readonly prefix?: string;
  /** The bracket before the arguments, and what comes between a key and its value. */
  readonly bracket: '(' | '{';
  readonly separator: '=' | ':';
  readonly close: string;
}
