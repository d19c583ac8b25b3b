/** How values that are not JSON are written. */
export interface LiteralForm {
  /** An additional string delimiter besides `"` and `'`. */
  readonly quote?: string;
}

/** How the object of a call is written. */
export interface ObjectsWritten {
  /** All calls form one list. */
  readonly isList?: boolean;
  /** The text between the markers and the objects. */
  readonly padding?: string;
  /** The objects' keys. Default: `name` and `arguments`. */
  readonly keys?: { readonly name: string; readonly arguments: string };
  /** The property of the call's id, first or last; the id consists of letters and digits, or of digits alone. */
  readonly id?: { readonly key: string; readonly isFirst?: boolean; readonly length: number | 'number' };
}

/** Calls that are JSON objects, one or a list, between two markers. */
export interface ObjectCalls {
  readonly open: readonly string[];
  readonly close?: string;
  /** The objects have one property: the tool's name, with the arguments as its value. */
  readonly isKeyed?: boolean;
  /** How calls are written when they are forced. */
  readonly written?: ObjectsWritten;
}

/** Calls written as a name followed by the arguments as a JSON object. */
export interface NamedCalls {
  /** The markers around all calls; models sometimes omit them. */
  readonly section?: { readonly open: string; readonly close: string };
  /** What precedes the name. */
  readonly open: string;
  /** What precedes the name without being part of it, such as the call's type. */
  readonly type?: string;
  /** What may come between the name and the arguments. */
  readonly between: readonly string[];
  /** The marker between the name and the call's id, if there is one; with `isFirst`, between the id and the name. */
  readonly id?: { readonly mark: string; readonly isFirst?: boolean };
  /** How a forced call is written: the text before and after the arguments, and the length of an id. */
  readonly written?: { readonly before?: string; readonly behind?: string; readonly idLength?: number };
  /** What follows the arguments. */
  readonly close?: string;
  /** The name includes the id: `functions.NAME:NUMBER`. */
  readonly isNumbered?: boolean;
  /** After `open`, calls may also be written as a JSON list of objects. */
  readonly orList?: boolean;
}

/** What ends a parameter's key. */
export interface KeyEnd {
  readonly mark: string;
  /** Whether the value is a string or JSON, if the marker says so. */
  readonly isString?: boolean;
  /** The type named by the marker. */
  readonly type?: string;
}

/** Calls whose parameters are written separately between markers, strings as bare text. */
export interface ParameterCalls {
  /** The markers around one or more calls; models sometimes omit them. */
  readonly section?: {
    readonly open: string;
    readonly close: string;
    /** Each call has its own section. */
    readonly isOfOne?: boolean;
  };
  readonly call: {
    readonly open: string;
    /** What ends the name. */
    readonly nameEnds: readonly string[];
    /** The number of a call, from 1, after the name: the text before and after it. */
    readonly number?: { readonly open: string; readonly close: string };
    readonly close: string;
  };
  /** The markers around arguments that are written as one JSON object. */
  readonly object?: { readonly open: string; readonly close: string };
  readonly parameter: {
    readonly open: string;
    readonly keyEnds: readonly KeyEnd[];
    /** The marker before the value, after the end of the key. */
    readonly valueOpen?: string;
    readonly close: string;
    /** A newline after the opening and before the closing marker is not part of the value. */
    readonly isOnLines?: boolean;
  };
}

/** Calls in the syntax of a programming language: a name and keyword arguments in brackets. */
export interface FunctionCalls extends LiteralForm {
  readonly open: readonly string[];
  /** A list of calls is enclosed in square brackets. */
  readonly isList: boolean;
  /** What precedes each name. */
  readonly prefix?: string;
  /** The bracket that opens the arguments, and the separator between a key and its value. */
  readonly bracket: '(' | '{';
  readonly separator: '=' | ':';
  readonly close: string;
}
