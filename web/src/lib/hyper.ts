// Typed parameter values: the wire carries text, the type says what text is allowed, so that a bool stays a bool.

/** Why `value` does not fit the recorded Python type, or null when it does. Empty text means None for every type. */
export function badValue(type: string | undefined, value: string): string | null {
  const v = value.trim();
  if (!type || v === '' || v === 'None') return null;
  switch (type.toLowerCase()) {
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
    case 'tuple':
      return /^\([\s\S]*\)$/.test(v) ? null : 'A tuple: (1, 2)';
    case 'dict':
      return /^\{[\s\S]*\}$/.test(v) ? null : "A dict: {'a': 1}";
    default:
      return null;
  }
}
