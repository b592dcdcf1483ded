/*
 * Types of Thrift, as data: what is read and written is what an interface definition says, and nobody has to generate code
 * from one. A struct keeps the fields that its type does not name, so that what a newer server tells is not lost when it is
 * written to another one.
 */

export type ThriftType =
  'bool' | 'byte' | 'i16' | 'i32' | 'i64' | 'double' | 'string' | 'binary' | ListType | MapType | StructType

export interface ListType<E extends ThriftType = ThriftType> {
  readonly kind: 'list' | 'set'
  readonly elements: E
}

export interface MapType<K extends ThriftType = ThriftType, V extends ThriftType = ThriftType> {
  readonly kind: 'map'
  readonly keys: K
  readonly values: V
}

export type Fields = Readonly<Record<string, readonly [id: number, type: ThriftType]>>

export interface StructType<F extends Fields = Fields> {
  readonly kind: 'struct'
  readonly fields: F
  readonly byId: ReadonlyMap<number, { readonly name: string; readonly type: ThriftType }>
}

/** Where a struct keeps what its type does not name. */
export const unnamed = Symbol('unnamed')

/** A field as it came: the code of its type, and its bytes. */
export interface RawField {
  readonly id: number
  readonly wireType: number
  readonly bytes: Buffer
}

/** What a value of a type is; 64 bits are more than a number holds exactly. */
export type Value<T> = T extends 'bool'
  ? boolean
  : T extends 'byte' | 'i16' | 'i32' | 'double'
    ? number
    : T extends 'i64'
      ? bigint
      : T extends 'string'
        ? string
        : T extends 'binary'
          ? Buffer
          : T extends ListType<infer E>
            ? readonly Value<E>[]
            : T extends MapType<infer K, infer V>
              ? ReadonlyMap<Value<K>, Value<V>>
              : T extends StructType<infer F>
                ? Struct<F>
                : never

/** Any field may be missing: servers of other releases leave some out. */
export type Struct<F extends Fields> = {
  readonly [N in keyof F]?: Value<F[N][1]>
} & { readonly [unnamed]?: readonly RawField[] }

export const list = <const E extends ThriftType>(elements: E): ListType<E> => ({ kind: 'list', elements })
export const set = <const E extends ThriftType>(elements: E): ListType<E> => ({ kind: 'set', elements })
export const map = <const K extends ThriftType, const V extends ThriftType>(
  keys: K,
  values: V,
): MapType<K, V> => ({ kind: 'map', keys, values })

/** @param fields by name, each with its number in the interface definition */
export const struct = <const F extends Fields>(fields: F): StructType<F> => ({
  kind: 'struct',
  fields,
  byId: new Map(Object.entries(fields).map(([name, [id, type]]) => [id, { name, type }])),
})

/** Codes of types in the binary protocol. */
export const wireTypes = {
  stop: 0,
  bool: 2,
  byte: 3,
  double: 4,
  i16: 6,
  i32: 8,
  i64: 10,
  string: 11,
  struct: 12,
  map: 13,
  set: 14,
  list: 15,
} as const

export function wireTypeOf(type: ThriftType): number {
  if (typeof type !== 'string') return wireTypes[type.kind]
  return wireTypes[type === 'binary' ? 'string' : type]
}

/** A function of a service. */
export interface Method<A extends Fields = Fields, R extends ThriftType | 'void' = ThriftType | 'void'> {
  readonly name: string
  readonly parameters: StructType<A>
  readonly result: R
  /** Names of the exceptions that it throws, by their numbers. */
  readonly throws: Readonly<Record<number, string>>
}

export const method = <const A extends Fields, const R extends ThriftType | 'void'>(
  name: string,
  parameters: A,
  result: R,
  throws: Readonly<Record<number, string>> = {},
): Method<A, R> => ({ name, parameters: struct(parameters), result, throws })
