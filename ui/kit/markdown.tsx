import { Blockquote, Code, Divider, List, Table, Text, Title } from '@mantine/core'
import { lexer, type Token, type Tokens } from 'marked'
import { Fragment, type ReactNode } from 'react'

/** Levels of headings below that of the page. */
const orders = [2, 2, 3, 4, 5, 6] as const

/** A text in Markdown. Its HTML is shown as it is written, and its links lead to the web alone. */
export default function Markdown({ text }: { readonly text: string }) {
  return <div className="markdown">{blocksOf(lexer(text))}</div>
}

const blocksOf = (tokens: readonly Token[]): ReactNode[] =>
  tokens.map((token, index) => <Fragment key={index}>{blockOf(token)}</Fragment>)

function blockOf(token: Token): ReactNode {
  switch (token.type) {
    case 'heading':
      return (
        <Title order={orders[(token as Tokens.Heading).depth - 1]!} mt="md">
          {inlinesOf(token.tokens)}
        </Title>
      )
    case 'paragraph':
      return <Text my="sm">{inlinesOf(token.tokens)}</Text>
    case 'text':
      return token.tokens === undefined ? token.raw : inlinesOf(token.tokens)
    case 'code':
      return <Code block>{(token as Tokens.Code).text}</Code>
    case 'blockquote':
      return <Blockquote my="sm">{blocksOf(token.tokens ?? [])}</Blockquote>
    case 'hr':
      return <Divider my="sm" />
    case 'list': {
      const { ordered, items } = token as Tokens.List
      return (
        <List type={ordered ? 'ordered' : 'unordered'} withPadding>
          {items.map((item, index) => (
            <List.Item key={index}>{blocksOf(item.tokens)}</List.Item>
          ))}
        </List>
      )
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table
      return (
        <Table my="sm">
          <Table.Thead>
            <Table.Tr>
              {header.map((cell, index) => (
                <Table.Th key={index}>{inlinesOf(cell.tokens)}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row, at) => (
              <Table.Tr key={at}>
                {row.map((cell, index) => (
                  <Table.Td key={index}>{inlinesOf(cell.tokens)}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )
    }
    case 'space':
      return null
    default:
      return <Text>{token.raw}</Text>
  }
}

const inlinesOf = (tokens: readonly Token[] = []): ReactNode[] =>
  tokens.map((token, index) => <Fragment key={index}>{inlineOf(token)}</Fragment>)

function inlineOf(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return <strong>{inlinesOf(token.tokens)}</strong>
    case 'em':
      return <em>{inlinesOf(token.tokens)}</em>
    case 'del':
      return <del>{inlinesOf(token.tokens)}</del>
    case 'codespan':
      return <Code>{(token as Tokens.Codespan).text}</Code>
    case 'br':
      return <br />
    case 'link': {
      const { href } = token as Tokens.Link
      const said = inlinesOf(token.tokens)
      return /^https?:\/\//.test(href) ? (
        <a href={href} target="_blank" rel="noreferrer noopener">
          {said}
        </a>
      ) : (
        said
      )
    }
    case 'escape':
    case 'text':
      return (token as Tokens.Text).tokens === undefined
        ? (token as Tokens.Text).text
        : inlinesOf((token as Tokens.Text).tokens)
    default:
      return token.raw
  }
}
