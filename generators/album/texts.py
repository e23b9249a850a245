"""Scenes and queries in words: in English, and in Chinese (simplified)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retgen.generators.album.queries import Conjunction
from retgen.generators.album.scenes import (
    Concept,
    ConceptCatalogue,
    ConceptName,
    PassingDetail,
    Scene,
)

Choose = Callable[[int], int]  # a number below another
_NUMBERS = {2: "two", 3: "three"}


def _a(phrase: str) -> str:
    return f"{'an' if phrase[0] in 'aeiou' else 'a'} {phrase}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


class English:
    """`choose` deals synonyms and wordings."""

    def __init__(self, album: ConceptCatalogue) -> None:
        self._concepts = album.concepts

    def caption(self, scene: Scene, choose: Choose) -> str:
        """One to two sentences that say all of a scene, and nothing else."""
        if scene.topic is not None:
            return self._document(scene, choose)
        what = self._with_count(scene.subject, scene.number, scene.colour, choose)
        does = self._does(scene.action, scene.object, choose, True)
        where = self._place(scene.place, choose)
        when = self._name(scene.moment, choose).also if scene.moment else ""
        later = f" {when}" if when else ""
        verb = "is" if scene.number == 1 else "are"
        match choose(5):
            case 0:
                text = f"{_capital(what)} {verb} {does} {where}{later}"
            case 1:
                text = f"{_capital(when or where)}, {what} {verb} {does}"
                text += f" {where}" if when else ""
            case 2:
                text = f"The photo shows {what} {does} {where}{later}"
            case 3:
                text = f"A snapshot of {what} {does} {where}{later}"
            case _:
                text = f"{_capital(what)} {does} {where}" + (f", {when}" if when else "")
        return text + self._passing(scene.passing, choose) + "."

    def _passing(self, passing: Sequence[PassingDetail], choose: Choose) -> str:
        if not passing:
            return ""
        seen = " and ".join(self._with_count(one.thing, 1, one.colour, choose) for one in passing)
        match choose(5):
            case 0:
                return f", with {seen} in the background"
            case 1:
                return f". In the background there {'are' if len(passing) > 1 else 'is'} {seen}"
            case 2:
                return f". {_capital(seen)} can be seen further back"
            case 3:
                return f", with {seen} at the edge of the picture"
            case _:
                return f"; behind, half hidden, {seen}"

    def _document(self, scene: Scene, choose: Choose) -> str:
        name, topic = self._name(scene.subject, choose).text, self._name(scene.topic, choose).text
        dated = f" from {scene.month}" if scene.month else ""
        match choose(3):
            case 0:
                text = f"The picture shows {_a(name)}{dated} about {topic}"
            case 1:
                text = f"{_capital(_a(name))} about {topic}" + (
                    f", dated {scene.month}" if dated else ""
                )
            case _:
                text = f"A picture of {_a(name)}{dated}; it is about {topic}"
        for seen in scene.passing:
            other = self._name(seen.thing, choose).text
            text += [
                f", with a small link to a page on {other} at the bottom",
                f". A line in the footer mentions {other}",
                f", with a narrow banner on {other} at the edge",
            ][choose(3)]
        return text + "."

    # --- queries ----------------------------------------------------------------------------

    def query(self, asked: Conjunction, choose: Choose) -> str:
        """A short phrase that asks for it."""
        if asked.thing is None:
            does = self._does(asked.action, asked.object, choose, False)
            place = self._place(asked.place, choose) if asked.place and does else ""
            if asked.place and not does:
                place = self._name(asked.place, choose).text
            when = ""
            if asked.moment:
                name = self._name(asked.moment, choose)
                when = name.also if does or place else name.text
            return " ".join(part for part in (does, place, when) if part)
        whole = asked.action is not None and asked.place is not None
        text = self._phrase(asked, choose, whole)
        if asked.action:
            text += " " + self._does(asked.action, asked.object, choose, False)
        if asked.place:
            text += " " + self._place(asked.place, choose)
        if asked.moment:
            text += " " + self._name(asked.moment, choose).also
        if asked.month:
            text += f" from {asked.month}"
        if asked.topic:
            text += " about " + self._name(asked.topic, choose).text
        if asked.other:
            text += " and " + self._name(asked.other, choose).text
        return text

    def _phrase(self, asked: Conjunction, choose: Choose, article: bool) -> str:
        """What is asked for, with its number and colour."""
        assert asked.thing is not None
        name = self._name(asked.thing, choose)
        if asked.number:
            return self._with(name, asked.number, asked.colour)
        text = f"{asked.colour} {name.text}" if asked.colour else name.text
        concept = self._concepts[asked.thing]
        counted = name.also and concept.part in ("thing", "landmark") and concept.name != "food"
        return _a(text) if article and counted else text

    # --- parts ------------------------------------------------------------------------------

    def _name(self, concept: str | None, choose: Choose) -> ConceptName:
        assert concept is not None
        names = self._concepts[concept].english
        return names[choose(len(names))]

    def _with_count(self, concept: str, number: int, colour: str | None, choose: Choose) -> str:
        return self._with(self._name(concept, choose), number, colour)

    def _with(self, name: ConceptName, number: int, colour: str | None) -> str:
        before = f"{colour} " if colour else ""
        if name.unit is not None:
            unit = _a(name.unit[0]) if number == 1 else f"{_NUMBERS[number]} {name.unit[1]}"
            return f"{unit} of {before}{name.text}"
        if number == 1:
            return _a(before + name.text)
        return f"{_NUMBERS[number]} {before}{name.also}"

    def _does(self, action: str | None, thing: str | None, choose: Choose, caption: bool) -> str:
        if action is None:
            return ""
        text = self._name(action, choose).text
        if thing is None:
            return text
        name = self._name(thing, choose)
        bare = name.unit is not None or not name.also or thing == "food"
        return f"{text} {name.text if bare else _a(name.text)}"

    def _place(self, place: str | None, choose: Choose) -> str:
        assert place is not None
        concept: Concept = self._concepts[place]
        name = self._name(place, choose)
        if concept.part == "landmark":
            return f"in front of {_a(name.text)}"
        return name.text if name.also == "=" else f"{name.also} {name.text}"


_CHINESE_NUMBERS = {1: "一", 2: "两", 3: "三"}


class Chinese:
    """`choose` deals synonyms and wordings."""

    def __init__(self, album: ConceptCatalogue) -> None:
        self._concepts = album.concepts
        self._colours = album.colours

    def caption(self, scene: Scene, choose: Choose) -> str:
        """One to two sentences that say all of a scene, and nothing else."""
        if scene.topic is not None:
            return self._document(scene, choose)
        what = self._with_count(scene.subject, scene.number, scene.colour, choose)
        does = self._does(scene.action, scene.object, choose)
        where = self._place(scene.place, choose)
        when = self._name(scene.moment, choose).also if scene.moment else ""
        first = f"{when}，" if when else ""
        of = f"{when}的" if when else ""
        assert scene.action is not None
        if self._concepts[scene.action].state:
            text = [
                f"{first}{where}有{what}{does}",
                f"照片里，{of}{where}有{what}{does}",
                f"{of}{where}，{what}{does}",
                f"图中{what}{does}，拍摄地点在{of}{where}",
            ][choose(4)]
        else:
            text = [
                f"{first}{what}在{where}{does}",
                f"{of}{where}，{what}正在{does}",
                f"照片里，{what}{when}正在{where}{does}",
                f"图片展示了{what}{when}在{where}{does}的场景",
                f"这张照片拍的是{what}{when}在{where}{does}",
            ][choose(5)]
        return text + self._passing(scene.passing, choose) + "。"

    def _passing(self, passing: Sequence[PassingDetail], choose: Choose) -> str:
        if not passing:
            return ""
        seen = "和".join(self._with_count(one.thing, 1, one.colour, choose) for one in passing)
        return [
            f"，背景中有{seen}",
            f"。背景里还能看到{seen}",
            f"，画面边缘露出{seen}",
            f"，后方是{seen}",
            f"。画面角落里隐约可见{seen}",
        ][choose(5)]

    def _document(self, scene: Scene, choose: Choose) -> str:
        name, topic = self._name(scene.subject, choose), self._name(scene.topic, choose).text
        month = self._name(scene.month, choose).text if scene.month else ""
        one = f"一{name.also}"
        text = [
            f"图片展示了{one}关于{topic}的{name.text}" + (f"，日期在{month}" if month else ""),
            f"{one}{f'{month}的' if month else ''}{name.text}，内容与{topic}有关",
            f"这是{one}{f'{month}的' if month else ''}{name.text}的照片，主题是{topic}",
        ][choose(3)]
        for seen in scene.passing:
            other = self._name(seen.thing, choose).text
            text += [
                f"，底部还有一条{other}页面的链接",
                f"。页脚处顺带提到了{other}",
                f"，边栏里有一小条{other}的横幅",
            ][choose(3)]
        return text + "。"

    # --- queries ----------------------------------------------------------------------------

    def query(self, asked: Conjunction, choose: Choose) -> str:
        """A short phrase that asks for it."""
        does = self._does(asked.action, asked.object, choose)
        when = self._name(asked.moment, choose) if asked.moment else None
        if asked.thing is None:
            if asked.place is None:
                if when is None:
                    return does
                return f"{when.also}{does}" if does else when.text
            if does:
                return f"{when.also if when else ''}在{self._place(asked.place, choose)}{does}"
            place = self._name(asked.place, choose).text
            return f"{when.also}的{place}" if when else place
        before = when.also if when else ""
        if asked.place:
            place = self._place(asked.place, choose)
            before += f"在{place}" if does else f"的{place}" if before else place
        before += does
        if asked.month:
            before = self._name(asked.month, choose).text
        if asked.topic:
            before += f"{'的' if before else ''}关于{self._name(asked.topic, choose).text}"
        text = f"{before}的" if before else ""
        name = self._name(asked.thing, choose)
        if asked.number:
            text += f"{_CHINESE_NUMBERS[asked.number]}{name.also}"
        text += self._colour(asked.colour) + name.text
        if asked.other:
            text += "和" + self._name(asked.other, choose).text
        return text

    # --- parts ------------------------------------------------------------------------------

    def _name(self, concept: str | None, choose: Choose) -> ConceptName:
        assert concept is not None
        names = self._concepts[concept].chinese
        return names[choose(len(names))]

    def _colour(self, colour: str | None) -> str:
        return f"{self._colours[colour]}的" if colour else ""

    def _with_count(self, concept: str, number: int, colour: str | None, choose: Choose) -> str:
        name = self._name(concept, choose)
        return f"{_CHINESE_NUMBERS[number]}{name.also}{self._colour(colour)}{name.text}"

    def _does(self, action: str | None, thing: str | None, choose: Choose) -> str:
        if action is None:
            return ""
        return self._name(action, choose).text + (self._name(thing, choose).text if thing else "")

    def _place(self, place: str | None, choose: Choose) -> str:
        assert place is not None
        name = self._name(place, choose)
        after = "前" if self._concepts[place].part == "landmark" else name.also
        return name.text + after
