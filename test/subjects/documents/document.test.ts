import { Type } from 'typebox'
import { expect, test } from 'vitest'
import { plain, withModels } from '../../../subjects/documents/document.ts'
import { model, strict } from '../../../subjects/kit/schemas.ts'

const Item = model('Item', { id: Type.Integer({ maximum: 100 }) })
const components = { schemas: { Error: { type: 'object' } } }
const toItem = { $ref: '#/components/schemas/Item' }

test('enumerations of texts say that they are texts', () => {
  expect(plain({ a: Type.Enum(['x', 'y']), b: Type.Enum([1, 2]), enum: 'field' })).toEqual({
    a: { type: 'string', enum: ['x', 'y'] },
    b: { enum: [1, 2] },
    enum: 'field',
  })
})

test('integers that 32 bits may not hold say so', () => {
  const small = { type: 'integer', maximum: 2 ** 31 - 1 }
  expect(plain({ a: Type.Integer(), b: Type.Integer({ maximum: 2 ** 31 }), c: small })).toEqual({
    a: { type: 'integer', format: 'int64' },
    b: { type: 'integer', maximum: 2 ** 31, format: 'int64' },
    c: small,
  })
})

test('a model is described once, and those within it', () => {
  const List = model('List', { items: Type.Array(Item) })
  expect(withModels({ one: Item, two: List, three: Item, components })).toEqual({
    one: toItem,
    two: { $ref: '#/components/schemas/List' },
    three: toItem,
    components: {
      schemas: {
        Error: { type: 'object' },
        Item: JSON.parse(JSON.stringify(Item)),
        List: {
          ...JSON.parse(JSON.stringify(List)),
          properties: { items: { type: 'array', items: toItem } },
        },
      },
    },
  })
})

test('a model that differs from what has its name stays where it is', () => {
  const other = model('Item', { id: Type.String() })
  const error = model('Error', { id: Type.Integer() })
  const document = withModels({ one: Item, two: other, three: error, components })
  expect(document).toMatchObject({ one: toItem, two: { title: 'Item' }, three: { title: 'Error' } })
})

test('fields called type and title make no model', () => {
  const schema = strict({ type: Type.String(), title: Type.String() })
  expect(withModels({ schema, components })).toMatchObject({ schema: { type: 'object' } })
})
