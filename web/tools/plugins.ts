// Two build steps that keep the page free of inline code: Mantine's variables become a style sheet, the theme starter a hashed script.
import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { DEFAULT_THEME, convertCssVariables, defaultCssVariablesResolver, mergeMantineTheme } from '@mantine/core';
import type { Plugin } from 'vite';
import { resolver, theme } from '../src/theme.ts';

const ID = 'virtual:mantine-variables.css';

/** What MantineProvider would put into an inline <style>; as a file it passes `style-src 'self'` without a nonce. */
export function mantineVariables(): Plugin {
  return {
    name: 'mantine-variables',
    resolveId: (id) => (id === ID ? `\0${ID}` : null),
    load: (id) => {
      if (id !== `\0${ID}`) return null;
      const full = mergeMantineTheme(DEFAULT_THEME, theme);
      const base = defaultCssVariablesResolver(full);
      const own = resolver(full);
      return convertCssVariables(
        { variables: { ...base.variables, ...own.variables }, light: { ...base.light, ...own.light }, dark: { ...base.dark, ...own.dark } },
        ':root',
      );
    },
  };
}

/** Puts src/theme-start.js into the head as a blocking script of its own (assets/theme-start-HASH.js). */
export function themeStarter(): Plugin {
  const source = readFileSync(new URL('../src/theme-start.js', import.meta.url), 'utf8');
  const hash = createHash('sha256').update(source).digest('base64url').slice(0, 8);
  const name = `assets/theme-start-${hash}.js`;
  let dev = false;
  return {
    name: 'theme-starter',
    configResolved: (c) => {
      dev = c.command === 'serve';
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: name, source });
    },
    transformIndexHtml: () => [
      { tag: 'script', attrs: { src: dev ? '/src/theme-start.js' : `/${name}` }, injectTo: 'head-prepend' as const },
    ],
  };
}
