import { lexer } from 'marked'

// In a thread of its own, which can be ended: some texts take it very long.
addEventListener('message', ({ data }: MessageEvent<string>) => postMessage(lexer(data)))
