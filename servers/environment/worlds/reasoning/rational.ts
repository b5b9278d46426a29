/**
 * An exact fraction in lowest terms with a positive denominator. Two equal numbers have equal fields, so a
 * verdict never hangs on floating-point error.
 */
export interface Rational {
  readonly numerator: bigint;
  /** Always 1 or more. */
  readonly denominator: bigint;
}

/** Decimal places up to which {@link formatRational} writes a decimal instead of a fraction. */
const MAX_DECIMAL_PLACES = 12;

/**
 * The fraction `numerator / denominator` in lowest terms.
 *
 * @throws RangeError when the denominator is 0.
 */
export function rational(numerator: bigint, denominator = 1n): Rational {
  if (denominator === 0n) {
    throw new RangeError("expected a denominator other than 0, found 0");
  }
  const sign = denominator < 0n ? -1n : 1n;
  const divisor = greatestCommonDivisor(numerator, denominator) * sign;
  return { numerator: numerator / divisor, denominator: denominator / divisor };
}

/** The greatest common divisor of two integers, 1 or more unless both are 0. */
export function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) {
    [x, y] = [y, x % y];
  }
  return x;
}

/** `a + b`, exactly. */
export function add(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

/** `-a`. */
export function negate(a: Rational): Rational {
  return { numerator: -a.numerator, denominator: a.denominator };
}

/** `a * b`, exactly. */
export function multiply(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.numerator, a.denominator * b.denominator);
}

/**
 * `a / b`, exactly.
 *
 * @throws RangeError when `b` is 0.
 */
export function divide(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator, a.denominator * b.numerator);
}

/** Whether both are the same number. */
export function equals(a: Rational, b: Rational): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

/**
 * The number a run of digits stands for, with `places` of them after the decimal point and times ten to the
 * power `exponent`.
 */
export function fromDecimal(digits: string, places: number, exponent = 0): Rational {
  const shift = exponent - places;
  const power = 10n ** BigInt(Math.abs(shift));
  return shift < 0 ? rational(BigInt(digits), power) : rational(BigInt(digits) * power);
}

/**
 * The number as it is shown to people, without loss: an integer (`72`), a decimal when it ends within twelve
 * places (`-0.5`), else a fraction in lowest terms (`1/3`).
 */
export function formatRational(value: Rational): string {
  if (value.denominator === 1n) {
    return value.numerator.toString();
  }
  const places = decimalPlaces(value.denominator);
  if (places === undefined) {
    return `${value.numerator}/${value.denominator}`;
  }
  const magnitude = value.numerator < 0n ? -value.numerator : value.numerator;
  const digits = ((magnitude * 10n ** BigInt(places)) / value.denominator)
    .toString()
    .padStart(places + 1, "0");
  const sign = value.numerator < 0n ? "-" : "";
  return `${sign}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

/** How many decimal places a fraction with this denominator needs; absent when too many or without end. */
function decimalPlaces(denominator: bigint): number | undefined {
  for (let places = 1; places <= MAX_DECIMAL_PLACES; places += 1) {
    if (10n ** BigInt(places) % denominator === 0n) {
      return places;
    }
  }
  return undefined;
}
