// Typed parameter values: the wire carries text, the type says what text is allowed, so that a bool stays a bool.

/** Why `value` does not fit the recorded Python type, or null when it does. Empty text means None for every type. */
export function badValue(type: string | undefined, value: string): string | null {
  const v = value.trim();
  if (!type || v === '' || v === 'None') return null;
  switch (type.toLowerCase().split('/')[0]) {
    case 'bool':
    case 'boolean':
      return /^(true|false|0|1)$/i.test(v) ? null : 'True or False';
    case 'int':
    case 'integer':
      return /^[+-]?\d[\d_]*$/.test(v) ? null : 'A whole number';
    case 'float':
    case 'number':
      return /^[+-]?((\d[\d_]*\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?|nan)$/i.test(v) ? null : 'A number';
    case 'list':
      return /^\[[\s\S]*\]$/.test(v) ? null : 'A list: [1, 2]';
    case 'tuple': // recorded as a list
      return /^(\([\s\S]*\)|\[[\s\S]*\])$/.test(v) ? null : 'A tuple: (1, 2)';
    case 'dict':
      return /^\{[\s\S]*\}$/.test(v) ? null : "A dict: {'a': 1}";
    default:
      return null;
  }
}

/** The Python type that a text reads as; undefined for None. */
export function typeOf(value: string): string | undefined {
  const v = value.trim();
  if (v === '' || v === 'None') return undefined;
  if (/^(True|False)$/.test(v)) return 'bool';
  return ['int', 'float', 'list', 'tuple', 'dict'].find((t) => badValue(t, v) === null && !(t === 'tuple' && v.startsWith('['))) ?? 'str';
}

/** The type to store with a new value: the recorded one; what was recorded as null has none and takes that of the value. */
export function typeToStore(recorded: { type?: string | undefined; value?: string | undefined }, value: string): string | undefined {
  if (recorded.type && recorded.type !== 'NoneType') return recorded.type;
  return recorded.value ? recorded.type : typeOf(value);
}
