"""Scenes and queries in Chinese (simplified)."""

from __future__ import annotations

from collections.abc import Sequence

from retgen.generators.album.asked import Asked
from retgen.generators.album.concepts import Album, Name
from retgen.generators.album.english import Choose
from retgen.generators.album.scenes import Scene, Seen

_NUMBERS = {1: "一", 2: "两", 3: "三"}


class Chinese:
    """`choose` deals synonyms and wordings."""

    def __init__(self, album: Album) -> None:
        self._concepts = album.concepts
        self._colours = album.colours

    def caption(self, scene: Scene, choose: Choose) -> str:
        """One to two sentences that say all of a scene, and nothing else."""
        if scene.topic is not None:
            return self._document(scene, choose)
        what = self._counted(scene.subject, scene.number, scene.colour, choose)
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

    def _passing(self, passing: Sequence[Seen], choose: Choose) -> str:
        if not passing:
            return ""
        seen = "和".join(self._counted(one.thing, 1, one.colour, choose) for one in passing)
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

    def query(self, asked: Asked, choose: Choose) -> str:
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
            text += f"{_NUMBERS[asked.number]}{name.also}"
        text += self._colour(asked.colour) + name.text
        if asked.other:
            text += "和" + self._name(asked.other, choose).text
        return text

    # --- parts ------------------------------------------------------------------------------

    def _name(self, concept: str | None, choose: Choose) -> Name:
        assert concept is not None
        names = self._concepts[concept].chinese
        return names[choose(len(names))]

    def _colour(self, colour: str | None) -> str:
        return f"{self._colours[colour]}的" if colour else ""

    def _counted(self, concept: str, number: int, colour: str | None, choose: Choose) -> str:
        name = self._name(concept, choose)
        return f"{_NUMBERS[number]}{name.also}{self._colour(colour)}{name.text}"

    def _does(self, action: str | None, thing: str | None, choose: Choose) -> str:
        if action is None:
            return ""
        return self._name(action, choose).text + (self._name(thing, choose).text if thing else "")

    def _place(self, place: str | None, choose: Choose) -> str:
        assert place is not None
        name = self._name(place, choose)
        after = "前" if self._concepts[place].part == "landmark" else name.also
        return name.text + after
