// Writes the table of Latin letters that the prompt code folds.
import { writeFileSync } from 'node:fs';
import { latinLetters, latinLettersSource } from './latin-letters.ts';

writeFileSync(new URL('../src/prompt/latin-letters.ts', import.meta.url), latinLettersSource(latinLetters()));
