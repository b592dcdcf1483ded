import { Blockquote, Code, Divider, List, Table, Text, Title } from '@mantine/core'
import type { Token, Tokens } from 'marked'
import { Fragment, type ReactNode, useEffect, useState } from 'react'

/** Levels of headings below that of the page. */
const orders = [2, 2, 3, 4, 5, 6] as const

/** A page that people write takes some milliseconds. */
const mostParseMs = 1_000

/** A text in Markdown. Its HTML is shown as it is written, and its links lead to the web alone. */
export default function Markdown({ text }: { readonly text: string }) {
  const parsed = useParsed(text)
  if (parsed === undefined) return null
  if (parsed === 'not parsed') return <Text className="name">{text}</Text>
  return <div className="markdown">{blocksOf(parsed)}</div>
}

/** What a text is made of; as it is where that takes too long, so that it keeps nobody from the page around it. */
function useParsed(text: string): readonly Token[] | 'not parsed' | undefined {
  const [parsed, setParsed] = useState<readonly Token[] | 'not parsed'>()
  useEffect(() => {
    const worker = new Worker(new URL('./markdown-lexer.ts', import.meta.url), { type: 'module' })
    const giveUp = () => {
      worker.terminate()
      setParsed('not parsed')
    }
    const timer = setTimeout(giveUp, mostParseMs)
    worker.addEventListener('error', giveUp)
    worker.addEventListener('message', ({ data }: MessageEvent<readonly Token[]>) => {
      clearTimeout(timer)
      setParsed(data)
      worker.terminate()
    })
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has none
    worker.postMessage(text)
    return () => {
      clearTimeout(timer)
      worker.terminate()
    }
  }, [text])
  return parsed
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
